package hns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Features by HNS version. The checks were wrong several times: ranges have
// holes, and new versions were forgotten (kubernetes/kubernetes#93304,
// microsoft/hcsshim#803, microsoft/hcsshim#1003, projectcalico/felix#1871).
func TestFeatureTable(t *testing.T) {
	versions := []hns.Version{{}, {7, 2}, {9, 1}, {9, 2}, {9, 3}, {9, 5}, {10, 0}, {10, 1}, {10, 2}, {10, 4}, {11, 0}, {11, 9}, {11, 10}, {12, 0}, {13, 0}, {13, 2}, {14, 0}, {15, 0}, {15, 1}, {15, 4}, {15, 5}, {99, 0}}
	for _, tt := range []struct {
		f    hns.Feature
		name string
		has  string // one mark a version, in their order
		text string
	}{
		{hns.FeatureACLAddressLists, "AclAddressLists", "-+++++++++++++++++++++", "7.2+"},
		{hns.FeatureACLNoHostRulePriority, "AclNoHostRulePriority", "-+++++++++++++++++++++", "7.2+"},
		{hns.FeatureACLPortRanges, "AclPortRanges", "-+++++++++++++++++++++", "7.2+"},
		{hns.FeatureACLRuleID, "AclRuleId", "-+++++++++++++++++++++", "7.2+"},
		{hns.FeatureV1API, "V1Api", "-+++++++++++++++++++++", "1.0+"},
		{hns.FeatureV2API, "V2Api", "---+++++++++++++++++++", "9.2+"},
		{hns.FeatureRemoteSubnet, "RemoteSubnet", "---+++++++++++++++++++", "9.2+"},
		{hns.FeatureHostRoute, "HostRoute", "---+++++++++++++++++++", "9.2+"},
		{hns.FeatureDSR, "DSR", "----++--++++++++++++++", "9.3-9.x or 10.2+"},
		{hns.FeatureSlash32EndpointPrefixes, "Slash32EndpointPrefixes", "----++---+++++++++++++", "9.3-9.x or 10.4+"},
		{hns.FeatureACLProtocol252, "AclSupportForProtocol252", "----------++++++++++++", "11.0+"},
		{hns.FeatureSessionAffinity, "SessionAffinity", "-------------+++++++++", "12.0+"},
		{hns.FeatureDualStack, "IPv6DualStack", "------------++++++++++", "11.10+"},
		{hns.FeatureSetPolicy, "SetPolicy", "--------------++++++++", "13.0+"},
		{hns.FeatureVXLANPort, "VxlanPort", "---------+++++++++++++", "10.3+"},
		{hns.FeatureL4Proxy, "L4Proxy", "-----+---------+++++++", "9.5-9.x or 10.5-10.x or 11.11-11.x or 12.1-12.x or 13.1+"},
		{hns.FeatureL4WFPProxy, "L4WfpProxy", "---------------+++++++", "13.2+"},
		{hns.FeatureTierACL, "TierAcl", "----------------++++++", "14.0+"},
		{hns.FeatureNetworkACL, "NetworkACL", "-----------------+++++", "15.0+"},
		{hns.FeatureNestedIPSet, "NestedIpSet", "-----------------+++++", "15.0+"},
		{hns.FeatureDisableHostPort, "DisableHostPort", "------------------++++", "15.1+"},
		{hns.FeatureModifyLoadBalancer, "ModifyLoadbalancer", "--------------------++", "15.5-15.x or 16.0+"},
		{hns.FeatureAccelnet, "Accelnet", "-------------------+++", "15.4+"},
	} {
		for i, v := range versions {
			if want := tt.has[i] == '+'; tt.f.In(v) != want {
				t.Errorf("%s in HNS %s: %v", tt.name, v, !want)
			}
		}
		err := &hns.FeatureError{Feature: tt.f, Found: hns.Version{Major: 8, Minor: 1}}
		if want := tt.name + " needs HNS " + tt.text + " (Windows "; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), ", this is 8.1") {
			t.Errorf("%q does not begin with %q", err, want)
		}
		wantIs(t, err, hns.ErrUnsupported)
	}
}

func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		v, w hns.Version
		less bool
	}{{hns.Version{9, 3}, hns.Version{10, 2}, true}, {hns.Version{10, 2}, hns.Version{10, 10}, true}, {hns.Version{10, 2}, hns.Version{9, 3}, false}, {hns.Version{9, 3}, hns.Version{9, 3}, false}} {
		if got := tt.v.Less(tt.w); got != tt.less {
			t.Errorf("%s older than %s: %v", tt.v, tt.w, got)
		}
	}
	for want, r := range map[string]hns.VersionRange{
		"9.2+": {From: hns.Version{9, 2}}, "9.3-11.2": {From: hns.Version{9, 3}, To: hns.Version{11, 2}}, "unknown+": {},
	} {
		if r.String() != want {
			t.Errorf("got %s, want %s", r, want)
		}
	}
	closed := hns.Feature{Versions: []hns.VersionRange{{From: hns.Version{9, 3}, To: hns.Version{11, 2}}}}
	for v, want := range map[hns.Version]bool{{9, 2}: false, {9, 3}: true, {11, 2}: true, {11, 3}: false} {
		if closed.In(v) != want {
			t.Errorf("%s: %v", v, !want)
		}
	}
}

// The gaps of L4Proxy, each end of them.
func TestL4ProxyRanges(t *testing.T) {
	for v, want := range map[hns.Version]bool{
		{9, 4}: false, {9, 99}: true, {10, 0}: false, {10, 4}: false, {10, 5}: true, {11, 0}: false, {11, 10}: false, {11, 11}: true,
		{12, 0}: false, {12, 1}: true, {13, 0}: false, {13, 1}: true, {14, 0}: true,
	} {
		if hns.FeatureL4Proxy.In(v) != want {
			t.Errorf("%s: %v", v, !want)
		}
	}
}

func TestFeatures(t *testing.T) {
	names := map[string]bool{}
	for _, f := range hns.Features() {
		names[strings.ToLower(f.Name)] = true
		for _, name := range []string{f.Name, strings.ToUpper(f.Name)} {
			got, ok := hns.FeatureByName(name)
			same(t, name, f, got)
			if !ok {
				t.Errorf("%s is not found", name)
			}
		}
		if len(f.Versions) == 0 || !strings.HasPrefix(f.Windows, "Windows ") {
			t.Errorf("%+v", f)
		}
	}
	if len(names) != 23 {
		t.Errorf("%d names", len(names))
	}
	if f, ok := hns.FeatureByName("Geneve"); ok || f.Name != "" {
		t.Errorf("found %+v", f)
	}
	hns.Features()[8].Versions[0] = hns.VersionRange{} // a copy
	if f, _ := hns.FeatureByName("DSR"); f.In(hns.Version{Major: 1}) {
		t.Error("the caller changed the table")
	}
}

// The version is asked for once. A failure is not kept, and is no answer to
// the question whether HNS has a feature.
func TestRequire(t *testing.T) {
	h := emulator.New(&emulator.Options{Version: hns.Version{Major: 10, Minor: 1}})
	c := hns.New(h, nil)
	h.Stop()
	err := c.Require(t.Context(), hns.FeatureDSR)
	wantIs(t, err, hns.ErrUnavailable)
	if !strings.Contains(err.Error(), "whether HNS has DSR is not known") {
		t.Errorf("error %v", err)
	}
	h.Start()
	var fe *hns.FeatureError
	if err := c.Require(t.Context(), hns.FeatureDSR); !errors.As(err, &fe) || fe.Found != (hns.Version{Major: 10, Minor: 1}) || !errors.Is(err, hns.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	h.Stop()
	if err := c.Require(t.Context(), hns.FeatureHostRoute); err != nil {
		t.Error(err)
	}
	if n := len(h.Calls()); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// Half a version is none.
func TestOddVersions(t *testing.T) {
	for doc, ok := range map[string]bool{
		`{"Major":13,"Minor":3}`: true, `{"major":"13","minor":"3"}`: true, `{"Major":13}`: true,
		`{}`: false, `{"Major":0,"Minor":0}`: false, `{"Major":"x","Minor":3}`: false, `{"Major":13,"Minor":-1}`: false, `"13.3"`: false, `null`: false,
	} {
		rec := &recorder{Backend: answering(doc)}
		c := hns.New(rec, nil)
		v, err := c.Version(t.Context())
		if (err == nil) != ok || ok != (v.Major == 13) {
			t.Errorf("%s reads as %v, %v", doc, v, err)
		}
		if _, err := c.Version(t.Context()); (err == nil) != ok || ok != (len(rec.sent()) == 1) {
			t.Errorf("%s: asked again: %v, %d calls", doc, err, len(rec.sent()))
		}
	}
}
