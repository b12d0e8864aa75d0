package main

import (
	"errors"
	"fmt"
	"path/filepath"
)

// The components' names, which are also their programs' file names.
const (
	etcd              = "etcd"
	apiserver         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
)

// ports of one cluster, all on 127.0.0.1.
type ports struct{ etcd, etcdPeer, apiserver, scheduler, kwok int }

func loopback(scheme string, port int) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
}

func etcdArguments(p ports, dataFolder string) []string {
	client, peer := loopback("http", p.etcd), loopback("http", p.etcdPeer)
	return []string{
		"--name=test",
		"--data-dir=" + dataFolder,
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=test=" + peer,
		// The data does not outlive the process, so it need not be on the disk.
		"--unsafe-no-fsync",
		"--log-level=warn",
		// A lone member elects itself after one election timeout: let that not be a second.
		"--heartbeat-interval=20",
		"--election-timeout=200",
	}
}

func apiserverArguments(p ports, k keys, extra []string) []string {
	return append([]string{
		"--etcd-servers=" + loopback("http", p.etcd),
		"--bind-address=127.0.0.1",
		// Without it the server looks for a default route, which a test machine need not have.
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.apiserver),
		"--tls-cert-file=" + k.apiserver.certificateFile,
		"--tls-private-key-file=" + k.apiserver.keyFile,
		"--client-ca-file=" + k.caFile,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + k.tokens.certificateFile,
		"--service-account-signing-key-file=" + k.tokens.keyFile,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=Node,RBAC",
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	}, extra...)
}

func controllerManagerArguments(k keys, kubeconfig string, extra []string) []string {
	return append([]string{
		"--kubeconfig=" + kubeconfig,
		"--root-ca-file=" + k.caFile,
		"--service-account-private-key-file=" + k.tokens.keyFile,
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--secure-port=0",
		// The default of 20 requests a second lets a Job of a thousand pods take a minute to appear.
		fmt.Sprintf("--kube-api-qps=%d", clientQPS),
		fmt.Sprintf("--kube-api-burst=%d", clientBurst),
	}, extra...)
}

func schedulerArguments(p ports, k keys, kubeconfig, config string, extra []string) []string {
	return append([]string{
		"--config=" + config,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.scheduler),
		"--tls-cert-file=" + k.scheduler.certificateFile,
		"--tls-private-key-file=" + k.scheduler.keyFile,
	}, extra...)
}

func kwokArguments(p ports, kubeconfig, config string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--config=" + config,
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=40",
		// Addresses of pods; the nodes' own come from their manifests or from the stages.
		"--cidr=10.1.0.0/16",
		fmt.Sprintf("--server-address=127.0.0.1:%d", p.kwok),
	}
}

// keys of one cluster.
type keys struct {
	caFile, caKeyFile string
	apiserver         keyPair
	scheduler         keyPair
	tokens            keyPair
	admin             keyPair
	clients           map[string]keyPair // by component
}

func makeKeys(folder string) (keys, error) {
	authority, err := newAuthority(folder)
	if err != nil {
		return keys{}, err
	}
	k := keys{caFile: authority.caFile(), caKeyFile: authority.caKeyFile(), clients: map[string]keyPair{}}
	var errs [7]error
	k.apiserver, errs[0] = authority.server(apiserver)
	k.scheduler, errs[1] = authority.server(scheduler)
	k.tokens, errs[2] = authority.signer("service-account")
	k.admin, errs[3] = authority.client("admin", "admin", "system:masters")
	k.clients[controllerManager], errs[4] = authority.client("client-"+controllerManager, "system:"+controllerManager)
	k.clients[scheduler], errs[5] = authority.client("client-"+scheduler, "system:"+scheduler)
	// kwok stands for all kubelets and deletes pods besides: no stock role allows that.
	k.clients[kwok], errs[6] = authority.client("client-"+kwok, kwok, "system:masters")
	return k, errors.Join(errs[:]...)
}

// kubeconfigs writes one kubeconfig per component and the administrator's, which it returns first.
func (k keys) kubeconfigs(folder, server string) (string, map[string]string, error) {
	admin := filepath.Join(folder, "kubeconfig")
	components := map[string]string{}
	for component, pair := range k.clients {
		components[component] = filepath.Join(filepath.Dir(k.caFile), component+".kubeconfig")
		if err := writeKubeconfig(components[component], server, k.caFile, pair); err != nil {
			return "", nil, err
		}
	}
	return admin, components, writeKubeconfig(admin, server, k.caFile, k.admin)
}
