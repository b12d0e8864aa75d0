package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
)

// Ports are drawn at random from below the range that the kernel takes outgoing connections' ports
// from, so that nothing but another starter is likely to take one between our look and its use. For
// the rest, start tries again with new ports when a component says that its address is in use.
const (
	lowestPort  = 10000
	highestPort = 32000
)

// reservation holds ports that were free when looked at and hands out each of them once.
type reservation struct{ taken map[int]bool }

func newReservation() *reservation { return &reservation{taken: map[int]bool{}} }

func (r *reservation) port() (int, error) {
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if r.taken[port] {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		listener.Close()
		r.taken[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1", lowestPort, highestPort)
}

// saysPortTaken tells whether a component's log ends with the kernel refusing its address.
func saysPortTaken(logFile string) bool {
	return strings.Contains(tail(logFile, 40), "address already in use")
}
