#include "pkg/app/extender_app.h"

int main(int argc, char** argv) { return yardmaster::app::ExtenderMain(argc, argv); }
