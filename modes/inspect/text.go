package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
	"github.com/hnskit/hnskit/modes"
)

var (
	hnsdiagTable = regexp.MustCompile(`(?m)^(Networks|Endpoints|Namespaces|LoadBalancers):[ \t]*\r?$`)
	hnsdiagItem  = regexp.MustCompile(`(?mi)^(Endpoint|Load Balancer|Network|Namespace)[ \t]+:[ \t]*[0-9a-f]{8}-[0-9a-f]{4}-`)
	goStruct     = regexp.MustCompile(`&\{\s*Id:[^\s]*\s+Name:`)
	command      = regexp.MustCompile(`(?i)(kube-proxy|flanneld)(\.exe)?["']?\s|^FLAG: --`)
	logLine      = regexp.MustCompile(`(?m)\w+\.go: ?\d+\]|^currentVersion\.|^\(?len=|^\w+: \(\w+\)`)
	trouble      = regexp.MustCompile(`(?i)\b(failed|error|unable|not found|cannot|degraded)\b`)
)

// text inspects what is no JSON.
func (r *Report) text(text string) {
	switch {
	case len(hns.FailuresIn(text)) > 0:
		r.errorText(text)
	case annotation.MatchString(text):
		r.flannelNode(text)
	case hnsdiagTable.MatchString(text) || hnsdiagItem.MatchString(text):
		r.hnsdiag(text)
	case goStruct.MatchString(text):
		r.goStructs(text)
	case isFormatList(text):
		r.formatList(text)
	case command.MatchString(text):
		r.commandLine(text)
	case r.embedded(text):
	case trouble.MatchString(text):
		r.errorText(text)
	case logLine.MatchString(text):
		r.log(text)
	default:
		r.guess(text)
		if r.Kind != Unknown {
			r.cutOff()
			return
		}
		r.add(modes.SeverityError, "", text, "nothing that is known here", "")
	}
}

func (r *Report) cutOff() {
	r.add(modes.SeverityError, "", "", "the text is a fragment: its begin or its end is missing", "get the whole of it, with ConvertTo-Json -Depth 9 and not from a log")
}

// embedded inspects the documents in a text that has others round them, such as
// what Invoke-HNSRequest prints with -Verbose.
func (r *Report) embedded(text string) bool {
	known, cut := false, false
	for i := 0; i < len(text); i++ {
		if text[i] != '{' && text[i] != '[' || i+1 >= len(text) {
			continue
		}
		after := strings.TrimLeft(text[i+1:], " \t\r\n")
		if text[i] == '{' && !strings.HasPrefix(after, `"`) || text[i] == '[' && !strings.HasPrefix(after, `{`) {
			continue
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text[i:])))
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			cut = true
			if !known {
				r.guess(text[i:])
			}
			break // what is inside of it is no document
		}
		if docs, err := v1doc.Split(raw); err == nil && r.hnsDocuments(docs) {
			known = true
		}
		i += int(d.InputOffset()) - 1
	}
	switch {
	case known && cut:
		r.add(modes.SeverityWarning, "", "", "a further document in the text is cut off, or wrapped by the console", "get the whole of it, from a file")
	case cut && r.Kind != Unknown:
		r.cutOff()
	}
	return r.Kind != Unknown
}

func (r *Report) log(text string) {
	r.Kind = Log
	if strings.Contains(text, "VXLAN config:") || strings.Contains(text, "Backend type: vxlan") {
		r.addMode(string(modes.Overlay))
	}
	r.add(modes.SeverityNote, "", "", "a log without a code of HNS: nothing in it can be judged", "")
}

// hnsdiag inspects what hnsdiag list prints. The columns break at long names, so
// only names and ids are taken.
func (r *Report) hnsdiag(text string) {
	r.Kind = HNSDump
	if items := hnsdiagItem.FindAllStringSubmatch(text, -1); items != nil && !hnsdiagTable.MatchString(text) {
		kinds := map[string]Kind{"endpoint": HNSEndpoint, "load balancer": HNSLoadBalancer, "network": HNSNetwork, "namespace": HNSNamespace}
		r.Kind = Unknown
		for _, m := range items {
			r.addKind(kinds[strings.ToLower(m[1])])
		}
	}
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		for i, w := range words {
			if _, id := hns.ParseID(w); id == nil && i > 0 && words[i-1] != ":" {
				r.addMode(string(modeByName(words[i-1])))
			}
			if _, network, ok := strings.Cut(w, "_"); ok {
				r.addMode(string(modeByName(network)))
			}
			if i == len(words)-1 && len(words) == 3 {
				r.addMode(string(modeByName(w)))
			}
		}
	}
	r.add(modes.SeverityNote, "", "", "a list for people: it has names and ids, and nothing to be judged", "use hnsdiag list all -d, or Get-HnsNetwork | ConvertTo-Json -Depth 9")
}

var goMember = regexp.MustCompile(`(\w+):([^\s{}\[\]&]+)`)

// goStructs inspects structs of Go in a log, printed with %+v. Blanks in values
// cannot be told from those between members.
func (r *Report) goStructs(text string) {
	kind := HNSNetwork
	if strings.Contains(text, "VirtualNetwork") {
		kind = HNSEndpoint
		if strings.Contains(text, "Subnets:") {
			kind = HNSDump
		}
	}
	r.Kind = kind
	r.addAPI(V1)
	for _, m := range goMember.FindAllStringSubmatch(text, -1) {
		name, value := m[1], m[2]
		var err error
		switch name {
		case "Type":
			r.guessMode(value, "")
		case "VirtualNetworkName":
			r.addMode(string(modeByName(value)))
		case "MacAddress", "StartMacAddress", "EndMacAddress":
			_, err = hns.ParseMAC(value)
		case "IPAddress", "GatewayAddress":
			_, err = netip.ParseAddr(value)
		case "AddressPrefix":
			_, err = netip.ParsePrefix(value)
		}
		if err != nil {
			r.add(modes.SeverityWarning, name, value, "cannot be read: "+err.Error(), "")
		}
	}
	r.add(modes.SeverityNote, "", "", "a struct that Go printed: policies are numbers, and blanks in values cannot be told from others", "have the program print JSON")
}

var flag = regexp.MustCompile(`--([a-z-]+)[= ]"?([^\s"]*)"?`)

// commandLine inspects the flags of kube-proxy and flanneld that HNS has to do
// with.
func (r *Report) commandLine(text string) {
	r.Kind = CommandLine
	flags := map[string]string{}
	for _, m := range flag.FindAllStringSubmatch(text, -1) {
		flags[m[1]] = m[2]
	}
	r.addMode(string(modeByName(flags["network-name"])))
	if strings.Contains(flags["feature-gates"], "WinOverlay=true") || flags["source-vip"] != "" {
		r.addMode(string(modes.Overlay))
	}
	if m := regexp.MustCompile(`(?m)^KUBE_NETWORK=(\S+)`).FindStringSubmatch(text); m != nil {
		r.addMode(string(modeByName(m[1])))
	}
	cluster, errCluster := netip.ParsePrefix(flags["cluster-cidr"])
	if flags["cluster-cidr"] != "" && errCluster != nil {
		r.add(modes.SeverityError, "--cluster-cidr", flags["cluster-cidr"], "not a prefix", "write a prefix such as 10.244.0.0/16")
	}
	if text := flags["source-vip"]; text != "" {
		vip, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			r.add(modes.SeverityError, "--source-vip", text, "not an IP address", "give the address that IPAM reserved for it on the overlay network")
		case errCluster == nil && !cluster.Contains(vip):
			r.add(modes.SeverityError, "--source-vip", text, "lies outside --cluster-cidr "+cluster.String(), "give the address that IPAM reserved for it on the overlay network")
		}
	}
}

// errorText inspects a text that tells of failures: by the codes in it, never by
// the messages, which are in the system's language.
func (r *Report) errorText(text string) {
	r.Kind = HNSError
	seen := map[hns.Code]bool{}
	add := func(line int, failures []*hns.Error) {
		for _, e := range failures {
			if seen[e.Code] {
				continue
			}
			seen[e.Code] = true
			reason := e.Code.String()
			if means := meanings(e); means != "" {
				reason += ": " + means
			}
			if e.Verb != 0 {
				reason = e.Op + ": " + reason
			}
			r.Findings = append(r.Findings, Finding{Line: line, Value: fmt.Sprintf("0x%08x", uint32(e.Code)),
				Severity: modes.SeverityWarning, Reason: reason, Fix: explain(e)})
		}
	}
	if lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n"); len(lines) > 1 {
		for i, line := range lines {
			add(i+1, hns.FailuresIn(line))
		}
	}
	add(0, hns.FailuresIn(text)) // a message can be broken into lines
	if len(seen) > 0 {
		return
	}
	switch {
	case strings.Contains(text, "subnet.env"):
		r.add(modes.SeverityWarning, "", text, "flannel's plugin could not read subnet.env, which flanneld writes when it has a lease: not ready, CNI code 11", "see whether flanneld runs on the node, and inspect its subnet.env")
	case strings.Contains(text, "茂"):
		r.add(modes.SeverityWarning, "", text, "a byte order mark before the configuration, read in another code page", "save the configuration without it: as UTF-8 without BOM")
	case strings.Contains(text, "no IP ranges specified"):
		r.add(modes.SeverityWarning, "", text, "host-local got neither subnet nor ranges", "inspect the ipam object of the configuration")
	default:
		r.add(modes.SeverityWarning, "", text, "no code of HNS in it: a message alone is in the system's language, and old clients printed the same for many failures", "look for 0x8… in the log of the program, or in the event log of HNS")
	}
}

// explain is the usual cause and cure: of the code, else of what it means.
func explain(err error) string {
	if s := hns.Explain(err); s != "" {
		return s
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return hns.Explain(s)
		}
	}
	return ""
}

var sentinels = []error{hns.ErrNotFound, hns.ErrAddressInUse, hns.ErrOverlap, hns.ErrExists, hns.ErrAttached, hns.ErrInUse,
	hns.ErrInvalidPolicy, hns.ErrInvalid, hns.ErrUnsupported, hns.ErrUnavailable, hns.ErrDenied, hns.ErrDegraded}

// meanings are the sentinels of package hns that the failure matches.
func meanings(err error) string {
	var out []string
	for _, s := range sentinels {
		if errors.Is(err, s) {
			out = append(out, s.Error())
		}
	}
	return strings.Join(out, ", ")
}
