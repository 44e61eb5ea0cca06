package ipam_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/ipam"
)

// FuzzHostLocal feeds ParseHostLocal and Reserve. What is accepted must survive
// encoding; what Reserve returns must be accepted, offer all that was offered but
// the reserved addresses, and not change a second time.
func FuzzHostLocal(f *testing.F) {
	f.Add(`{"type":"host-local","subnet":"10.71.3.0/28"}`, uint16(1), uint16(2), uint16(9))
	f.Add(`{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/28","rangeEnd":"10.71.3.6"},{"subnet":"10.71.3.0/28","rangeStart":"10.71.3.8"}],[{"subnet":"fd00::/120"}]]}`, uint16(3), uint16(14), uint16(15))
	f.Fuzz(func(t *testing.T, conf string, a, b, c uint16) {
		h, err := ipam.ParseHostLocal([]byte(conf))
		if err != nil {
			return
		}
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatalf("accepted, but does not encode: %v", err)
		}
		again, err := ipam.ParseHostLocal(text)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if h.Type == "" {
			h.Type = ipam.HostLocalType
		}
		if diff := cmp.Diff(h, again, byText, cmp.Comparer(sameJSON)); diff != "" {
			t.Fatalf("after a round trip (-want +got):\n%s", diff)
		}
		reserved := pick(h, a, b, c)
		got, changes, err := ipam.Reserve([]byte(conf), reserved...)
		if err != nil {
			return // a set with nothing left; anything else shows in the table tests
		}
		if len(changes) == 0 && string(got) != conf {
			t.Fatalf("changed without a change: %s", got)
		}
		checkReserved(t, []byte(conf), got, reserved)
		if twice, changes, err := ipam.Reserve(got, reserved...); err != nil || len(changes) != 0 || string(twice) != string(got) {
			t.Fatalf("a second time: %s, %v, %v", twice, changes, err)
		}
	})
}

// pick chooses addresses of the first subnets.
func pick(h *ipam.HostLocal, numbers ...uint16) []ipam.Reservation {
	var out []ipam.Reservation
	for _, set := range h.Sets {
		for _, n := range numbers {
			if a, err := ipam.Nth(set[0].Subnet, uint64(n)); err == nil {
				out = append(out, ipam.Reservation{Address: a, Reason: "fuzz"})
			}
		}
	}
	return out
}

// FuzzResult feeds the reading of plugin output, through every version.
func FuzzResult(f *testing.F) {
	f.Add(`{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24","gateway":"10.50.3.1"}],"routes":[{"dst":"0.0.0.0/0"}]}`)
	f.Add(`{"cniVersion":"0.4.0","interfaces":[{"name":"eth0"}],"ips":[{"version":"6","interface":0,"address":"fd00::7/64"}]}`)
	f.Add(`{"ip4":{"ip":"10.50.3.7/24","routes":[{"dst":"10.96.0.0/12"}]},"ip6":null}`)
	f.Fuzz(func(t *testing.T, output string) {
		for _, version := range []string{"0.2.0", "0.4.0", "1.0.0"} {
			d := ipam.Delegated{Exec: &spyExec{result: output}}
			lease, err := d.Allocate(t.Context(), ipam.Request{Config: []byte(`{"cniVersion":"` + version + `","ipam":{"type":"x"}}`)})
			if err != nil {
				continue
			}
			for _, a := range lease.Addresses {
				if !a.Prefix.IsValid() || a.Prefix.Addr().Is4In6() || a.Gateway.IsValid() && a.Gateway.Is4() != a.Prefix.Addr().Is4() {
					t.Errorf("lease has %+v", a)
				}
			}
			again, err := ipam.NewLease(lease.Result())
			if err != nil {
				t.Fatalf("a lease that is no result: %v", err)
			}
			if diff := cmp.Diff(lease, again, byText); diff != "" {
				t.Errorf("after a round trip (-want +got):\n%s", diff)
			}
		}
	})
}

// FuzzMaths: a place in a prefix and the address there lead to each other.
func FuzzMaths(f *testing.F) {
	f.Add("10.50.3.7/24", uint64(2))
	f.Add("fd00::/64", uint64(1)<<63)
	f.Fuzz(func(t *testing.T, text string, n uint64) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return
		}
		a, err := ipam.Nth(p, n)
		if err != nil {
			return
		}
		if off, err := ipam.Offset(p, a); err != nil || !off.IsUint64() || off.Uint64() != n {
			t.Errorf("Nth(%s, %d) = %s, whose offset is %v, %v", p, n, a, off, err)
		}
		if last := ipam.Last(p); ipam.Network(p).Compare(a) > 0 || a.Compare(last) > 0 {
			t.Errorf("Nth(%s, %d) = %s, not up to %s", p, n, a, last)
		}
	})
}
