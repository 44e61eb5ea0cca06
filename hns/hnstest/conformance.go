package hnstest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// Harness is a backend under test, and what the suite may do to it.
type Harness struct {
	// Backend is asked. It is needed.
	Backend hns.Backend
	// Version of the HNS behind it; zero: it is asked for.
	Version hns.Version
	// External allows networks that take a network adapter (L2Bridge, Overlay,
	// Transparent), for which the host loses its network for some seconds.
	// Without it the cases that need them are skipped.
	External bool
	// Adapter is the alias of the adapter they take; empty: the choice of HNS.
	Adapter string
	// Busy is a TCP port on which a program of the host listens, on all its
	// addresses; zero: the case about it is skipped.
	Busy uint16
	// Prefix begins the names of all that the suite makes, so that what a
	// killed run left behind is recognised, and deleted by the next; empty is
	// "hnstest-". Everything so named on the host is the suite's.
	Prefix string
	// Strict holds the backend to every case, as is right for an emulator.
	// Without it only what is documented or tested can fail.
	Strict bool
	// Loses is what the way to HNS does not carry. A step that it concerns is
	// recorded as lost, by name, and cannot fail; all else is judged as ever. A
	// loss must be one: what is there in spite of it, or got through, fails, and
	// with Strict and External so does a loss that no case meets. Objects of a
	// kind whose Name cannot be written bear no prefix, so that the next run does
	// not know those that a killed one left behind.
	Loses []Loss
	// Record, if set, is given the answers, case by case.
	Record func(Answer)
}

// scenario is one case of the suite.
type scenario struct {
	name     string // "<resource>/<subject>"
	sure     Certainty
	source   string
	external bool
	// only tells which versions the case is about; nil: all.
	only func(hns.Version) bool
	run  func(*bench)
}

// RunConformance puts all cases of the suite to a backend, each as a subtest.
// open is called once, with the test that everything belongs to.
//
// A backend that does not answer at all fails; nothing is skipped for that.
// What the suite made is deleted at the end of each case, also of one that
// failed. The suite makes networks with prefixes of 10.231.0.0/16 and
// fd00:231::/32, and port mappings of the ports 23100 to 23999.
func RunConformance(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	h := open(t)
	if h.Backend == nil {
		t.Fatal("hnstest: no backend")
	}
	if h.Prefix == "" {
		h.Prefix = "hnstest-"
	}
	v, err := askVersion(h.Backend)
	if err != nil {
		t.Fatalf("hnstest: the service does not answer: %v", err)
	}
	if h.Version == (hns.Version{}) {
		h.Version = v
	} else if v != h.Version {
		t.Errorf("HNS says it is version %s, not %s", v, h.Version)
	}
	sweep(t, &h)
	ls := &losses{list: h.Loses, met: map[string]bool{}}
	group := ""
	var members []scenario
	flush := func() {
		if len(members) > 0 {
			cases := members
			t.Run(group, func(t *testing.T) {
				for _, s := range cases {
					t.Run(strings.TrimPrefix(s.name, group+"/"), func(t *testing.T) { runCase(t, &h, ls, s) })
				}
			})
		}
		members = nil
	}
	for _, s := range allScenarios() {
		if g, _, _ := strings.Cut(s.name, "/"); g != group {
			flush()
			group = g
		}
		members = append(members, s)
	}
	flush()
	if names := ls.unmet(); h.Strict && h.External && len(names) > 0 {
		t.Errorf("%q are said to be lost, and no case met them", names)
	}
	if left := leftovers(t, &h); len(left) > 0 {
		t.Errorf("left on the host: %q", left)
	}
}

func allScenarios() (all []scenario) {
	for _, cases := range []func() []scenario{
		versionCases, networkCases, endpointCases, namespaceCases, policyCases, networkPolicyCases,
		loadBalancerCases, routeCases, queryCases, documentCases, shownCases, v1Cases, v1ViewCases, concurrencyCases,
	} {
		all = append(all, cases()...)
	}
	return all
}

// runCase puts one case and records how it ended.
func runCase(t *testing.T, h *Harness, ls *losses, s scenario) {
	b := &bench{t: t, h: h, losses: ls, sure: s.sure}
	a := Answer{Case: s.name, Certainty: s.sure, Source: s.source, Version: h.Version.String()}
	// The first cleanup runs last: what b made is deleted by then.
	t.Cleanup(func() {
		if h.Record == nil {
			return
		}
		a.Verdict, a.Steps = b.verdict(), b.steps
		h.Record(a)
	})
	switch {
	case s.external && !h.External:
		b.skip("the harness forbids external networks")
	case s.only != nil && !s.only(h.Version):
		b.skip("not a question for this version")
	}
	s.run(b)
	if len(b.steps) == 0 {
		t.Errorf("the case asked nothing")
	}
}

func askVersion(backend hns.Backend) (v hns.Version, err error) {
	resp, err := backend.Do(hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/globals/version"})
	if err != nil || len(resp.Documents) == 0 {
		return v, err
	}
	return v, json.Unmarshal(resp.Documents[0], &v)
}
