package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// cluster is one running control plane and the folder it lives in:
//
//	cluster.json  kubeconfig  lock  logs/  pki/  etcd/
type cluster struct {
	options    options
	folder     string
	ownsFolder bool     // made by us, removed with all that is in it
	lock       *os.File // held for as long as the folder is in use
	keys       keys
	ports      ports
	kubeconfig string
	processes  []*process // in the order in which they were started
}

// description is what cluster.json and the line on standard output say.
type description struct {
	Dir                         string         `json:"dir"`
	Kubeconfig                  string         `json:"kubeconfig"`
	APIServer                   string         `json:"apiServer"`
	CAFile                      string         `json:"caFile"`
	CAKeyFile                   string         `json:"caKeyFile"`
	AdminCertFile               string         `json:"adminCertFile"`
	AdminKeyFile                string         `json:"adminKeyFile"`
	ServiceAccountKeyFile       string         `json:"serviceAccountKeyFile"`
	ServiceAccountPublicKeyFile string         `json:"serviceAccountPublicKeyFile"`
	Etcd                        string         `json:"etcd"`
	Scheduler                   string         `json:"scheduler,omitempty"`
	Kwok                        string         `json:"kwok,omitempty"`
	Bin                         string         `json:"bin"`
	Logs                        string         `json:"logs"`
	Pid                         int            `json:"pid"`
	Pids                        map[string]int `json:"pids"`
}

// start returns a cluster in which everything answers. When it fails it returns what there is of it,
// for close to take down.
func start(o options, end end) (*cluster, error) {
	c := &cluster{options: o, folder: o.dir}
	if err := c.takeFolder(); err != nil {
		return c, err
	}
	var err error
	if c.keys, err = makeKeys(filepath.Join(c.folder, "pki")); err != nil {
		return c, err
	}
	const attempts = 5
	for attempt := 1; ; attempt++ {
		err = c.startComponents(end)
		if err == nil || attempt == attempts || !c.someoneTookAPort() {
			break
		}
		c.stopComponents(end.hurry)
	}
	if err != nil {
		return c, err
	}
	return c, c.writeDescription()
}

func (c *cluster) logs() string    { return filepath.Join(c.folder, "logs") }
func (c *cluster) dataDir() string { return filepath.Join(c.folder, "etcd") }

// takeFolder makes the folder ours alone and clears what an earlier, killed start left in it.
func (c *cluster) takeFolder() error {
	if c.folder == "" {
		folder, err := os.MkdirTemp("", "controlplane-")
		if err != nil {
			return err
		}
		c.folder, c.ownsFolder = folder, true
	}
	if err := os.MkdirAll(c.logs(), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(c.folder, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("%s is in use by another control plane: choose another --dir or stop that one", c.folder)
	}
	c.lock = lock
	if err := lock.Truncate(0); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(lock, "%d\n", os.Getpid()); err != nil {
		return err
	}
	return c.removeTraces()
}

// removeTraces removes everything but the logs and the lock.
func (c *cluster) removeTraces() error {
	var errs []error
	for _, name := range []string{"etcd", "pki", "kubeconfig", "cluster.json"} {
		errs = append(errs, os.RemoveAll(filepath.Join(c.folder, name)))
	}
	return errors.Join(errs...)
}

func (c *cluster) startComponents(end end) error {
	if err := c.choosePorts(); err != nil {
		return err
	}
	server := loopback("https", c.ports.apiserver)
	admin, kubeconfigs, err := c.keys.kubeconfigs(c.folder, server)
	if err != nil {
		return err
	}
	c.kubeconfig = admin
	prober, err := newProber(c, end)
	if err != nil {
		return err
	}

	if err := c.launch(etcd, etcdArguments(c.ports, c.dataDir())); err != nil {
		return err
	}
	if err := prober.await(etcd, loopback("http", c.ports.etcd)+"/health"); err != nil {
		return err
	}
	if err := c.launch(apiserver, apiserverArguments(c.ports, c.keys, c.options.apiserverArgs)); err != nil {
		return err
	}
	if err := prober.await(apiserver, server+"/readyz"); err != nil {
		return err
	}
	return c.startClients(prober, server, kubeconfigs)
}

// startClients starts what talks to the API server and waits until all of it works.
func (c *cluster) startClients(prober *prober, server string, kubeconfigs map[string]string) error {
	o := c.options
	err := c.launch(controllerManager,
		controllerManagerArguments(c.keys, kubeconfigs[controllerManager], o.controllerArgs))
	if err != nil {
		return err
	}
	if o.withScheduler {
		config, err := c.writeSchedulerConfig(kubeconfigs[scheduler])
		if err != nil {
			return err
		}
		err = c.launch(scheduler, schedulerArguments(c.ports, c.keys, kubeconfigs[scheduler], config, o.schedulerArgs))
		if err != nil {
			return err
		}
	}
	if o.withKwok {
		if err := c.launch(kwok, kwokArguments(c.ports, kubeconfigs[kwok], o.kwokConfig)); err != nil {
			return err
		}
	}

	// Without this ServiceAccount no pod is admitted; it is the controllers' first sign of life.
	account := server + "/api/v1/namespaces/default/serviceaccounts/default"
	if err := prober.await(controllerManager, account); err != nil {
		return err
	}
	if o.withScheduler {
		if err := prober.await(scheduler, loopback("https", c.ports.scheduler)+"/readyz"); err != nil {
			return err
		}
	}
	if o.withKwok {
		return prober.await(kwok, loopback("http", c.ports.kwok)+"/healthz")
	}
	return nil
}

func (c *cluster) choosePorts() error {
	reserved := newReservation()
	for _, port := range []*int{
		&c.ports.etcd, &c.ports.etcdPeer, &c.ports.apiserver, &c.ports.scheduler, &c.ports.kwok,
	} {
		var err error
		if *port, err = reserved.port(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) writeSchedulerConfig(kubeconfig string) (string, error) {
	var given []byte
	if c.options.schedulerConfig != "" {
		var err error
		if given, err = os.ReadFile(c.options.schedulerConfig); err != nil {
			return "", err
		}
	}
	config, err := schedulerConfig(string(given), kubeconfig)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.options.schedulerConfig, err)
	}
	path := filepath.Join(c.folder, "pki", "scheduler-config.yaml")
	return path, os.WriteFile(path, []byte(config), 0o600)
}

func (c *cluster) launch(name string, arguments []string) error {
	log := filepath.Join(c.logs(), name+".log")
	p, err := launch(name, filepath.Join(c.options.bin, name), log, arguments)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

func (c *cluster) someoneTookAPort() bool {
	for _, p := range c.processes {
		if p.hasEnded() && saysPortTaken(p.logFile) {
			return true
		}
	}
	return false
}

func (c *cluster) description() description {
	d := description{
		Dir:                         c.folder,
		Kubeconfig:                  c.kubeconfig,
		APIServer:                   loopback("https", c.ports.apiserver),
		CAFile:                      c.keys.caFile,
		CAKeyFile:                   c.keys.caKeyFile,
		AdminCertFile:               c.keys.admin.certificateFile,
		AdminKeyFile:                c.keys.admin.keyFile,
		ServiceAccountKeyFile:       c.keys.tokens.keyFile,
		ServiceAccountPublicKeyFile: c.keys.tokens.certificateFile,
		Etcd:                        loopback("http", c.ports.etcd),
		Bin:                         c.options.bin,
		Logs:                        c.logs(),
		Pid:                         os.Getpid(),
		Pids:                        map[string]int{},
	}
	if c.options.withScheduler {
		d.Scheduler = loopback("https", c.ports.scheduler)
	}
	if c.options.withKwok {
		d.Kwok = loopback("http", c.ports.kwok)
	}
	for _, p := range c.processes {
		d.Pids[p.name] = p.pid()
	}
	return d
}

// writeDescription renames the file into place: who sees it sees a cluster that is ready.
func (c *cluster) writeDescription() error {
	content, err := json.MarshalIndent(c.description(), "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.folder, "cluster.json")
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// wait returns when the process is asked to stop, or with the failure of a component that ended.
func (c *cluster) wait(end end) error {
	failed := make(chan *process, len(c.processes))
	for _, p := range c.processes {
		go func() {
			<-p.ended
			failed <- p
		}()
	}
	select {
	case <-end.asked:
		return nil
	case p := <-failed:
		return p.failure()
	}
}

// close stops everything and removes what need not stay. After a failure the logs stay.
func (c *cluster) close(end end, failed bool) error {
	c.stopComponents(end.hurry)
	if c.lock == nil {
		return nil
	}
	defer c.lock.Close()
	if c.options.keep {
		return nil
	}
	if c.ownsFolder && !failed {
		return os.RemoveAll(c.folder)
	}
	return c.removeTraces()
}

// stopComponents stops the API server's clients together, then the API server, then etcd, each only
// when those before it are gone: data that etcd still writes to cannot be removed.
func (c *cluster) stopComponents(hurry <-chan struct{}) {
	const grace = 8 * time.Second
	var clients sync.WaitGroup
	for _, p := range c.processes {
		if p.name != etcd && p.name != apiserver {
			clients.Go(func() { p.stop(grace, hurry) })
		}
	}
	clients.Wait()
	for _, name := range []string{apiserver, etcd} {
		for _, p := range c.processes {
			if p.name == name {
				p.stop(grace, hurry)
			}
		}
	}
	c.processes = nil
	_ = os.RemoveAll(c.dataDir())
}
