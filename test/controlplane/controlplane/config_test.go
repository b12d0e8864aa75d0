package main

import (
	"strings"
	"testing"
)

const extenders = `extenders:
- urlPrefix: https://127.0.0.1:1234
  filterVerb: filter
  # a comment inside
  tlsConfig: {certFile: /a, keyFile: /b}
`

func TestSchedulerConfigKeepsEverythingElseLetterByLetter(t *testing.T) {
	given := "---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + extenders
	got, err := schedulerConfig(given, "/k")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, extenders) {
		t.Errorf("extenders changed:\n%s", got)
	}
	if strings.Count(got, "clientConnection:") != 1 || !strings.Contains(got, `kubeconfig: "/k"`) {
		t.Errorf("no client connection:\n%s", got)
	}
}

func TestSchedulerConfigReplacesWhatTheStarterOwns(t *testing.T) {
	given := "kind: KubeSchedulerConfiguration\nclientConnection:\n  kubeconfig: /theirs\n  qps: 5\n" +
		extenders + "leaderElection: {leaderElect: true}\nparallelism: 4\n"
	got, err := schedulerConfig(given, "/ours")
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"/theirs", "qps: 5", "leaderElect: true"} {
		if strings.Contains(got, gone) {
			t.Errorf("%q is still there:\n%s", gone, got)
		}
	}
	for _, kept := range []string{extenders, "parallelism: 4\n", "/ours", "leaderElect: false"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is missing:\n%s", kept, got)
		}
	}
}

func TestSchedulerConfigMakesOneOutOfNothing(t *testing.T) {
	got, err := schedulerConfig("", "/k")
	if err != nil || !strings.Contains(got, "kind: KubeSchedulerConfiguration\n") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestSchedulerConfigRefusesWhatItCannotComplete(t *testing.T) {
	for _, given := range []string{`{"kind": "KubeSchedulerConfiguration"}`, "profiles: []\n"} {
		if got, err := schedulerConfig(given, "/k"); err == nil {
			t.Errorf("%q was taken:\n%s", given, got)
		}
	}
}
