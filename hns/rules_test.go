package hns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// ruleCase changes a good object; want are the complaints of its create.
type ruleCase[T any] struct {
	name   string
	change func(*T)
	want   []string // "path | value | rule"
}

// checkRules creates each object three times: with all checks, with exactly
// the rules of its complaints lifted, and with other rules lifted. What has no
// rule cannot be lifted.
func checkRules[T any](t *testing.T, good func() *T, create func(*testing.T, *T, ...string) error, cases []ruleCase[T]) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			obj := good()
			tt.change(obj)
			err := create(t, obj)
			same(t, "complaints", tt.want, complaints(err))
			if (err != nil) != (len(tt.want) > 0) || err != nil && !errors.Is(err, hns.ErrInvalid) {
				t.Errorf("error %v", err)
			}
			var rules, without []string
			for _, c := range tt.want {
				if rule := c[strings.LastIndex(c, "| ")+2:]; rule != "" {
					rules = append(rules, rule)
				} else {
					without = append(without, c)
				}
			}
			for _, r := range rules {
				if !listedRules[r] {
					t.Errorf("rule %q is not listed with Options.Allow", r)
				}
			}
			same(t, "complaints with these rules lifted", without, complaints(create(t, obj, append(rules, "", "no-such-rule")...)))
			var others []string
			for r := range listedRules {
				lifted := false
				for _, mine := range rules {
					lifted = lifted || mine == r
				}
				if !lifted {
					others = append(others, r)
				}
			}
			same(t, "complaints with all other rules lifted", tt.want, complaints(create(t, obj, others...)))
		})
	}
}

// listedRules are those that the comment of Options.Allow lists.
var listedRules = map[string]bool{
	"dns-search": true, "dns-server": true, "gateway-outside": true, "host-bits": true, "ipam-type": true,
	"namespace-in-create": true, "namespace-type": true, "network-name": true, "network-type": true,
	"one-address-per-family": true, "overlay-vsid": true, "policy-type": true, "schema1-name": true, "vlan-range": true, "vni-range": true,
}
