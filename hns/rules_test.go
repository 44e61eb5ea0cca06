package hns_test

import (
	"errors"
	"os"
	"regexp"
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

// The comment of Options.Allow lists every rule, and no other.
func TestRulesAreListed(t *testing.T) {
	source, err := os.ReadFile("client.go")
	if err != nil {
		t.Fatal(err)
	}
	_, comment, _ := strings.Cut(string(source), "// Allow lifts checks")
	comment, _, _ = strings.Cut(comment, "Allow []string")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z0-9-]+)"`).FindAllStringSubmatch(comment, -1) {
		listed[m[1]] = true
	}
	delete(listed, "feature-")
	same(t, "rules in the comment", listedRules, listed)
}

// listedRules are those that the comment of Options.Allow lists.
var listedRules = map[string]bool{
	"acl-address": true, "acl-port": true, "acl-priority": true, "acl-protocol": true, "dns-search": true, "dns-server": true, "enum": true,
	"gateway-outside": true, "host-bits": true, "ipam-type": true, "mixed-families": true, "namespace-in-create": true, "namespace-type": true,
	"network-name": true, "network-type": true, "no-endpoints": true, "no-ports": true, "once": true, "one-address-per-family": true,
	"overlay-vsid": true, "policy-type": true, "port-zero": true, "protocol": true, "proxy-target": true, "schema1-name": true, "set-value": true,
	"vlan-range": true, "vni-range": true,
}
