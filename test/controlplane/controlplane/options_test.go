package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func programs(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	bin := programs(t, etcd, apiserver, controllerManager)
	for arguments, want := range map[string]string{
		"--with=proxy":                       "known are scheduler and kwok",
		"--with=kwok":                        "--kwok-config",
		"--scheduler-config=x":               "--with scheduler",
		"--with=scheduler":                   "no kube-scheduler in " + bin,
		"--apiserver-arg=v":                  "name=value",
		"--apiserver-arg=--v=4":              "without leading dashes",
		"up":                                 `unexpected argument "up"`,
		"--with=kwok --kwok-config=/no/such": "no kwok in",
	} {
		_, err := parseOptions(append(strings.Fields(arguments), "--bin="+bin))
		if strings.HasPrefix(arguments, "up") {
			_, err = parseOptions([]string{"--bin=" + bin, arguments})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", arguments, err, want)
		}
	}
}

func TestOptionsRepeatArguments(t *testing.T) {
	bin := programs(t, etcd, apiserver, controllerManager)
	o, err := parseOptions([]string{"--bin", bin, "--apiserver-arg", "v=4", "--apiserver-arg", "feature-gates=A=true,B=false"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"--v=4", "--feature-gates=A=true,B=false"}; !slices.Equal(o.apiserverArgs, want) {
		t.Errorf("got %v, want %v", o.apiserverArgs, want)
	}
}
