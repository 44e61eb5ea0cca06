package hcnbridge

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
)

func TestMissing(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       []Loss
	}{
		{"the same", `{"A":1,"B":[{"C":"x"}]}`, `{"B":[{"C":"x"}],"A":1}`, nil},
		{"more on the other side", `{"A":1}`, `{"A":1,"B":2}`, nil},
		{"letter case of names", `{"ipaddress":"x"}`, `{"IpAddress":"x"}`, nil},
		{"zeros count as absent", `{"A":0,"B":"","C":false,"D":null,"E":[],"F":{},"G":{"H":{"I":0}}}`, `{}`, nil},
		{"a member", `{"A":1,"State":3}`, `{"A":1}`, []Loss{{"State", "3"}}},
		{"a member of a member", `{"A":{"B":1,"C":2}}`, `{"A":{"B":1}}`, []Loss{{"A.C", "2"}}},
		{"a whole object", `{"A":{"B":"<x>"}}`, `{}`, []Loss{{"A", `{"B":"<x>"}`}}},
		{"in a list", `{"A":[{"B":1},{"B":1,"C":2}]}`, `{"A":[{"B":1},{"B":1}]}`, []Loss{{"A[1].C", "2"}}},
		{"the end of a list", `{"A":[1,2]}`, `{"A":[1]}`, []Loss{{"A[1]", "2"}}},
		{"another value", `{"A":65536}`, `{"A":1}`, []Loss{{"A", "65536"}}},
		{"another type", `{"A":{"B":1},"C":[1]}`, `{"A":1,"C":1}`, []Loss{{"A", `{"B":1}`}, {"C", "[1]"}}},
		{"a number that is too exact", `{"A":9007199254740993}`, `{"A":9007199254740992}`, []Loss{{"A", "9007199254740993"}}},
		{"in the order of names", `{"B":1,"A":1}`, `{}`, []Loss{{"A", "1"}, {"B", "1"}}},
	} {
		got, err := missing([]byte(tt.a), []byte(tt.b))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, tt := range [][2]string{{`{`, `{}`}, {`{}`, `[`}} {
		if got, err := missing([]byte(tt[0]), []byte(tt[1])); err == nil {
			t.Errorf("%q: got %v", tt, got)
		}
	}
}

func TestLossError(t *testing.T) {
	err := error(&LossError{[]Loss{{"Flags", "1"}, {"Ipams[0].Subnets[0].Flags", "2"}}})
	if want := "hcn has no room for Flags: 1, Ipams[0].Subnets[0].Flags: 2"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, hns.ErrUnsupported) || errors.Is(err, hns.ErrInvalid) {
		t.Error("not only ErrUnsupported")
	}
}
