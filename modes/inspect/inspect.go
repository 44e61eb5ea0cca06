package inspect

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
)

// Kind is what a file is.
type Kind string

// The kinds.
const (
	CNIConf         Kind = "cni-conf"         // a network configuration for one plugin
	CNIConfList     Kind = "cni-conflist"     // a list of them
	CNIResult       Kind = "cni-result"       // what a plugin printed
	IPAMConf        Kind = "ipam-conf"        // a configuration for an IPAM plugin alone
	NetConf         Kind = "net-conf"         // flanneld's net-conf.json
	SubnetEnv       Kind = "subnet-env"       // flannel's subnet.env
	FlannelNode     Kind = "flannel-node"     // flannel's annotations of a node
	HNSNetwork      Kind = "hns-network"      // one or more networks
	HNSEndpoint     Kind = "hns-endpoint"     // endpoints
	HNSNamespace    Kind = "hns-namespace"    // namespaces
	HNSLoadBalancer Kind = "hns-loadbalancer" // load balancers, or policy lists of v1
	HNSRoute        Kind = "hns-route"        // SDN routes
	HNSPolicy       Kind = "hns-policy"       // policies by themselves, or a request about them
	HNSDump         Kind = "hns-dump"         // objects of several kinds
	HNSError        Kind = "hns-error"        // a failure: a record of HNS, a text with codes, a plugin's error
	CommandLine     Kind = "command-line"     // kube-proxy's or flanneld's
	Log             Kind = "log"              // lines of a log, without a code of HNS
	Unknown         Kind = "unknown"
)

// Verdict is whether the file can be used as what it is.
type Verdict string

// The verdicts. Refuse is that of a file with a finding of severity error, and
// of one that is Unknown.
const (
	Accept Verdict = "accept"
	Refuse Verdict = "refuse"
)

// The values of Report.API. A configuration that mixes the forms has Mixed.
const (
	V1    = "v1"
	V2    = "v2"
	Mixed = "v1, v2"
)

// Finding is something about a file that its owner should know.
type Finding struct {
	// Path leads to the value, as in "plugins[0].policies[1].value.Settings"; of
	// several documents in a file it begins with the number of the document in
	// brackets. Paths into what HNS calls an object are in the names of schema 2,
	// also where the document is of schema 1. Empty where Line says the place, or
	// the whole file is meant.
	Path string `json:"path,omitempty"`
	// Line and Column count from 1; zero where Path says the place.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Value is the offending text; empty if something is missing.
	Value    string         `json:"value,omitempty"`
	Severity modes.Severity `json:"severity"`
	Reason   string         `json:"reason"`
	// Fix says what to do; empty where nothing needs to be done or is known to help.
	Fix string `json:"fix,omitempty"`
}

// Report is what there is to say about a file.
type Report struct {
	// File is the name that the file was given with.
	File string `json:"file"`
	Kind Kind   `json:"kind"`
	// Mode is the mode of the network that the file is about, in HNS's spelling, or
	// a type that is none of the five modes, such as ICS; several with a comma;
	// empty if the file does not tell.
	Mode string `json:"mode"`
	// API is the schema of policies and documents: V1, V2 or Mixed; empty where
	// there are none. A configuration without policies and apiVersion has that of
	// its plugin.
	API     string  `json:"api"`
	Verdict Verdict `json:"verdict"`
	// Findings are in the order of the file, as far as the validators keep it;
	// never nil.
	Findings []Finding `json:"findings"`

	// What Agree compares.
	confs     []*conf
	env       *subnetenv.Env
	netConf   *subnetenv.NetConf
	networks  []*hns.Network
	endpoints []placedEndpoint
	lossy     bool // the objects are from text that leaves things out
}

// Clean reports whether nothing needs to be done: there is no finding but notes.
func (r *Report) Clean() bool {
	w := r.worst()
	return r.Verdict == Accept && (w == "" || w == modes.SeverityNote)
}

func (r *Report) worst() modes.Severity {
	var fs []modes.Finding
	for _, f := range r.Findings {
		fs = append(fs, modes.Finding{Severity: f.Severity})
	}
	return modes.Worst(fs)
}

// File inspects the content of a file. The name is for the report, and tells the
// kind of a file in which nothing else does: an empty subnet.env.
func File(name string, data []byte) *Report {
	r := &Report{File: name, Kind: Unknown, Findings: []Finding{}}
	r.recognise(data)
	r.settle()
	return r
}

// settle gives the verdict, and each finding once.
func (r *Report) settle() {
	once, seen := []Finding{}, map[Finding]bool{}
	for _, f := range r.Findings {
		if !seen[f] {
			once, seen[f] = append(once, f), true
		}
	}
	r.Findings = once
	r.Verdict = Accept
	if r.Kind == Unknown || r.worst() == modes.SeverityError {
		r.Verdict = Refuse
	}
}

func (r *Report) add(severity modes.Severity, path, value, reason, fix string) {
	r.Findings = append(r.Findings, Finding{Path: path, Value: clip(value), Severity: severity, Reason: reason, Fix: fix})
}

// addMode adds a mode to those of the file.
func (r *Report) addMode(m string) {
	if m == "" || slices.Contains(strings.Split(r.Mode, ", "), m) {
		return
	}
	if r.Mode != "" {
		m = r.Mode + ", " + m
	}
	r.Mode = m
}

// addAPI notes a schema that the file uses.
func (r *Report) addAPI(api string) {
	switch {
	case api == "" || r.API == api:
	case r.API == "":
		r.API = api
	default:
		r.API = Mixed
	}
}

// clip shortens a value for a finding.
func clip(s string) string {
	const most = 120
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// utf8Of turns UTF-16 with a byte order mark, which PowerShell writes, into UTF-8,
// and takes the mark of UTF-8 away. It reports whether it was UTF-16.
func utf8Of(data []byte) (text []byte, was16 bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(data, []byte("\ufeff")), false
	}
	var units []uint16
	for b := data[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units))), true
}

// place returns line and column of an offset, from 1 and in characters.
func place(data []byte, offset int) (line, column int) {
	before := data[:max(0, min(offset, len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, len([]rune(string(before[start:]))) + 1
}
