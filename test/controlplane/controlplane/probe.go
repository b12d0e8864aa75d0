package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// prober waits for components to answer.
type prober struct {
	cluster  *cluster
	client   *http.Client
	deadline time.Time
	asked    <-chan struct{}
}

func newProber(c *cluster, end end) (*prober, error) {
	ca, err := os.ReadFile(c.keys.caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("cannot read back our own CA")
	}
	admin, err := tls.LoadX509KeyPair(c.keys.admin.certificateFile, c.keys.admin.keyFile)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}},
	}
	return &prober{
		cluster:  c,
		client:   &http.Client{Transport: transport, Timeout: 5 * time.Second},
		deadline: time.Now().Add(c.options.readyTimeout),
		asked:    end.asked,
	}, nil
}

// await asks the URL until it answers 200. It gives up when a component ends, when the time is over
// and when we are asked to stop.
func (p *prober) await(component, url string) error {
	const pause = 50 * time.Millisecond
	for {
		problem := p.ask(url)
		if problem == nil {
			return nil
		}
		for _, process := range p.cluster.processes {
			if process.hasEnded() {
				return process.failure()
			}
		}
		if time.Now().After(p.deadline) {
			log := p.logOf(component)
			return fmt.Errorf("%s does not answer after %s: %w; %s ends with\n%s",
				component, p.cluster.options.readyTimeout, problem, log, tail(log, 15))
		}
		select {
		case <-p.asked:
			return errAskedToStop
		case <-time.After(pause):
		}
	}
}

func (p *prober) ask(url string) error {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

func (p *prober) logOf(component string) string {
	for _, process := range p.cluster.processes {
		if process.name == component {
			return process.logFile
		}
	}
	return p.cluster.logs()
}
