package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type options struct {
	dir              string
	bin              string
	withScheduler    bool
	withKwok         bool
	schedulerConfig  string
	kwokConfig       string
	apiserverArgs    argumentList
	controllerArgs   argumentList
	schedulerArgs    argumentList
	untilStdinCloses bool
	keep             bool
	readyTimeout     time.Duration
}

// argumentList is a flag that may be given many times, each time as name=value.
type argumentList []string

func (l *argumentList) String() string { return strings.Join(*l, " ") }

func (l *argumentList) Set(value string) error {
	name, _, found := strings.Cut(value, "=")
	if !found || name == "" || strings.HasPrefix(name, "-") {
		return errors.New("want name=value without leading dashes, as in v=4")
	}
	*l = append(*l, "--"+value)
	return nil
}

func parseOptions(arguments []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder for data, keys, logs, kubeconfig and cluster.json (default a new temporary one)")
	flags.StringVar(&o.bin, "bin", "", "folder of the components' programs (default $YARDMASTER_CONTROLPLANE_BIN, else where this program is)")
	with := flags.String("with", "", "more components, comma-separated: scheduler, kwok")
	flags.StringVar(&o.schedulerConfig, "scheduler-config", "", "KubeSchedulerConfiguration in YAML; its clientConnection and leaderElection are filled in")
	flags.StringVar(&o.kwokConfig, "kwok-config", "", "kwok's configuration with its Stage documents; needed with kwok")
	flags.Var(&o.apiserverArgs, "apiserver-arg", "name=value, one more flag for kube-apiserver; may be repeated")
	flags.Var(&o.controllerArgs, "controller-manager-arg", "name=value, one more flag for kube-controller-manager; may be repeated")
	flags.Var(&o.schedulerArgs, "scheduler-arg", "name=value, one more flag for kube-scheduler; may be repeated")
	flags.BoolVar(&o.untilStdinCloses, "until-stdin-closes", false, "stop when standard input ends")
	flags.BoolVar(&o.keep, "keep", false, "leave the folder as it is at the end")
	flags.DurationVar(&o.readyTimeout, "ready-timeout", 2*time.Minute, "give up when not everything answers after this long")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: every option is a flag, see --help", flags.Arg(0))
	}
	if err := o.chooseComponents(*with); err != nil {
		return o, err
	}
	return o, o.findFiles()
}

func (o *options) chooseComponents(with string) error {
	for _, name := range strings.FieldsFunc(with, func(r rune) bool { return r == ',' }) {
		switch name {
		case "scheduler":
			o.withScheduler = true
		case "kwok":
			o.withKwok = true
		default:
			return fmt.Errorf("--with %s: known are scheduler and kwok", name)
		}
	}
	if o.schedulerConfig != "" && !o.withScheduler {
		return errors.New("--scheduler-config needs --with scheduler")
	}
	if o.withKwok && o.kwokConfig == "" {
		return errors.New("--with kwok needs --kwok-config, the file with its stages")
	}
	return nil
}

// findFiles makes paths absolute (the components run in another folder) and looks for what must be
// there, so that a wrong path is reported in our words and before anything is started.
func (o *options) findFiles() error {
	if o.bin == "" {
		o.bin = os.Getenv("YARDMASTER_CONTROLPLANE_BIN")
	}
	if o.bin == "" {
		o.bin = filepath.Dir(os.Args[0])
	}
	for _, path := range []*string{&o.dir, &o.bin, &o.schedulerConfig, &o.kwokConfig} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	for _, program := range o.programs() {
		if _, err := os.Stat(filepath.Join(o.bin, program)); err != nil {
			return fmt.Errorf("no %s in %s: --bin wants the folder that test/controlplane/build prints", program, o.bin)
		}
	}
	for _, file := range []string{o.schedulerConfig, o.kwokConfig} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) programs() []string {
	programs := []string{etcd, apiserver, controllerManager}
	if o.withScheduler {
		programs = append(programs, scheduler)
	}
	if o.withKwok {
		programs = append(programs, kwok)
	}
	return programs
}
