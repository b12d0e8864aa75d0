#include "pkg/app/agent_app.h"

int main(int argc, char** argv) { return yardmaster::app::AgentMain(argc, argv); }
