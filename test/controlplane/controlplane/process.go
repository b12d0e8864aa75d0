package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is one running component. Its output goes to its log file alone.
type process struct {
	name    string
	logFile string
	command *exec.Cmd
	ended   chan struct{} // closed once the process is gone and has been waited for
	result  error         // how it ended; to be read after ended is closed
}

// launch starts a program. Call it on the main thread only (see init in main.go).
func launch(name, program, logFile string, arguments []string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	fmt.Fprintf(log, "%s %s\n", program, strings.Join(arguments, " "))

	command := exec.Command(program, arguments...)
	command.Stdout = log
	command.Stderr = log
	command.Dir = filepath.Dir(logFile)
	// A process group of its own keeps the terminal's Ctrl-C away: we stop the components in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	p := &process{name: name, logFile: logFile, command: command, ended: make(chan struct{})}
	go func() {
		p.result = command.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.command.Process.Pid }

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// failure says how a component ended that should be running.
func (p *process) failure() error {
	how := "ended by itself"
	if p.result != nil {
		how = p.result.Error()
	}
	return fmt.Errorf("%s: %s; %s ends with\n%s", p.name, how, p.logFile, tail(p.logFile, 15))
}

// stop asks the process to end and kills it when it has not within the grace period, or at once when
// the caller is in a hurry. It returns once the process is gone.
func (p *process) stop(grace time.Duration, hurry <-chan struct{}) {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
		return
	case <-timer.C:
	case <-hurry:
	}
	_ = p.command.Process.Kill()
	<-p.ended
}

// tail returns the last lines of a log, indented, long ones cut.
func tail(path string, lines int) string {
	const longestLine = 400
	content, err := os.ReadFile(path)
	if err != nil {
		return "  " + err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	for i, line := range all {
		if len(line) > longestLine {
			line = line[:longestLine] + " ..."
		}
		all[i] = "  " + line
	}
	return strings.Join(all, "\n")
}
