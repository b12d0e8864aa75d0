// Controlplane starts a real Kubernetes control plane on loopback and keeps it until it is told to
// stop: etcd, kube-apiserver, kube-controller-manager, and on request kube-scheduler and kwok.
//
// When everything answers it prints one line of JSON (the same that it writes to cluster.json) on
// standard output. It stops everything, etcd last, on SIGTERM, SIGINT and SIGHUP, when a component
// ends by itself, and with --until-stdin-closes when its standard input ends. A second signal kills
// what is left. Killing it with -9 takes the components along: the kernel kills them when it is gone.
//
// Every start has a folder, ports and keys of its own, so any number run side by side.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func init() {
	// The death signal of a child is tied to the thread that made it. main stays on the main thread,
	// which lives as long as the process, and every child is started from there.
	runtime.LockOSThread()
}

func main() {
	options, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(2)
	}
	if err := run(options); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(options options) error {
	end := watchForEnd(options.untilStdinCloses)
	cluster, err := start(options, end)
	if err == nil {
		err = announce(cluster.description())
	}
	if err == nil {
		err = cluster.wait(end)
	}
	if errors.Is(err, errAskedToStop) {
		err = nil
	}
	return errors.Join(err, cluster.close(end, err != nil))
}

func announce(description description) error {
	line, err := json.Marshal(description)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", line)
	return err
}

// end says that a signal asked us to stop (asked is closed), and that a second one followed (hurry is).
type end struct{ asked, hurry chan struct{} }

var errAskedToStop = errors.New("asked to stop")

func watchForEnd(untilStdinCloses bool) end {
	e := end{make(chan struct{}), make(chan struct{})}
	requests := make(chan struct{})
	go func() {
		<-requests
		close(e.asked)
	}()
	ask := func() {
		select {
		case requests <- struct{}{}:
		case <-e.asked:
		}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		<-signals
		ask()
		<-signals
		close(e.hurry)
	}()
	if untilStdinCloses {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			ask()
		}()
	}
	return e
}
