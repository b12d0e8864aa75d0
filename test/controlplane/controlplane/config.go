package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

// Client limits of the controller manager and the scheduler: far above what a test asks for, so that
// what is measured is the work and not the wait.
const (
	clientQPS   = 1000
	clientBurst = 2000
)

// writeKubeconfig writes a kubeconfig that holds the certificates themselves, so that it can be
// copied away from its folder.
func writeKubeconfig(path, server, caFile string, user keyPair) error {
	var encoded [3]string
	for i, file := range []string{caFile, user.certificateFile, user.keyFile} {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		encoded[i] = base64.StdEncoding.EncodeToString(content)
	}
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: test
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: test
  context:
    cluster: test
    user: test
`, server, encoded[0], encoded[1], encoded[2])
	return os.WriteFile(path, []byte(content), 0o600)
}

// schedulerConfig completes a KubeSchedulerConfiguration in block-style YAML (an empty one stands for
// the defaults): how to reach the API server and not to elect a leader. Those two top-level keys are
// replaced when they are there; everything else, extenders above all, is kept letter by letter.
func schedulerConfig(given, kubeconfig string) (string, error) {
	if strings.HasPrefix(strings.TrimSpace(given), "{") {
		return "", fmt.Errorf("the scheduler's configuration is JSON: write it as YAML, one key a line")
	}
	var result strings.Builder
	ours, hasKind := false, false
	for _, line := range strings.Split(given, "\n") {
		startsKey := line != "" && !strings.ContainsAny(line[:1], " \t#-")
		if startsKey {
			key, _, _ := strings.Cut(line, ":")
			ours = key == "clientConnection" || key == "leaderElection"
			hasKind = hasKind || key == "kind"
		}
		if !ours && line != "..." {
			result.WriteString(line + "\n")
		}
	}
	if !hasKind {
		if strings.TrimSpace(given) != "" {
			return "", fmt.Errorf("the scheduler's configuration has no kind: want kind: KubeSchedulerConfiguration")
		}
		result.WriteString("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	}
	fmt.Fprintf(&result, "clientConnection:\n  kubeconfig: %q\n  qps: %d\n  burst: %d\n", kubeconfig, clientQPS, clientBurst)
	result.WriteString("leaderElection:\n  leaderElect: false\n")
	return result.String(), nil
}
