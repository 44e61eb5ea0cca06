//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// freeAddress returns an address of this machine with a port that was free just
// now. On Linux it is a loopback address of this process alone, so that the port
// is free later, too.
func freeAddress(t *testing.T) (ip, port string) {
	t.Helper()
	ip = "127.0.0.1"
	if runtime.GOOS == "linux" {
		ip = fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()>>16&0x7f, os.Getpid()>>8&0xff, 1+os.Getpid()%254)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return ip, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
