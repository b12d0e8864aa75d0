#include "pkg/app/operator_app.h"

int main(int argc, char** argv) { return yardmaster::app::OperatorMain(argc, argv); }
