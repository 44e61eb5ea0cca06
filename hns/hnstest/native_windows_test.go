package hnstest_test

import (
	"net"
	"os"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/hcnbridge"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// Environment of TestNative and TestHCN. They make and delete networks on this
// machine, so they must be asked for.
const (
	enable   = "HNSKIT_CONFORMANCE"          // "native" or "hcn" runs the one or the other
	external = "HNSKIT_CONFORMANCE_EXTERNAL" // "1" allows networks that take the adapter
	adapter  = "HNSKIT_CONFORMANCE_ADAPTER"  // which one; default: the choice of HNS
	strict   = "HNSKIT_CONFORMANCE_STRICT"   // "1" for DLLs that hold an emulator
	answers  = "HNSKIT_CONFORMANCE_ANSWERS"  // file for the answers, as lines of JSON
	callLog  = "HNSKIT_CALL_LOG"             // log that the emulator's DLLs write
)

// The HNS of this machine, by the native backend.
func TestNative(t *testing.T) {
	needEnabled(t, "native")
	native, err := hns.Native()
	if err != nil {
		t.Fatal(err)
	}
	runHere(t, hnstest.Harness{Backend: native})
}

// The HNS of this machine, through hcn.
func TestHCN(t *testing.T) {
	needEnabled(t, "hcn")
	runHere(t, hnstest.Harness{Backend: hcnbridge.New(), Loses: lostByHCN()})
}

func needEnabled(t *testing.T, value string) {
	t.Helper()
	if os.Getenv(enable) != value {
		t.Skipf("%s=%s lets this test make and delete networks on this machine", enable, value)
	}
}

// runHere completes a harness as the environment says and runs the suite.
func runHere(t *testing.T, h hnstest.Harness) {
	t.Helper()
	h.External = os.Getenv(external) == "1"
	h.Adapter = os.Getenv(adapter)
	h.Strict = os.Getenv(strict) == "1"
	if !h.Strict {
		l, err := net.Listen("tcp4", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		h.Busy = l.Addr().(*net.TCPAddr).AddrPort().Port()
	}
	if path := os.Getenv(answers); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}()
		h.Record = hnstest.AnswerWriter(f, func(err error) { t.Error(err) })
	}
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness { return h })
	checkCallLog(t)
}

// checkCallLog: where the DLLs were to log their calls, they did. Else the
// calls went elsewhere.
func checkCallLog(t *testing.T) {
	t.Helper()
	path := os.Getenv(callLog)
	if path == "" {
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		t.Errorf("%s: %v", callLog, err)
	case info.Size() == 0:
		t.Errorf("%s is empty: no call reached the DLLs", callLog)
	}
}
