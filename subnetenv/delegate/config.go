package delegate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/subnetenv"
)

// Upstream's defaults. On Windows the paths are relative to the current drive, in
// practice C:. They are kept so that what upstream's plugin left is found.
const (
	DefaultSubnetFile = subnetenv.DefaultPath
	DefaultDataDir    = "/var/lib/cni/flannel"

	// DefaultType is the delegate's type if it names none.
	DefaultType = "win-bridge"

	// DefaultCNIVersion is the delegate's cniVersion if the configuration names
	// none: upstream's on Windows. Its results look like those of 0.1.0, which
	// the CNI specification would assume.
	DefaultCNIVersion = "0.2.0"
)

// Config is a CNI configuration of type flannel, as a runtime hands it to the
// plugin. Member names are matched ignoring case. A name that is there in two
// spellings is refused, unless one of them is a runtime's: libcni adds cniVersion
// and name to what a file may have as CniVersion and Name, and those it added
// count.
type Config struct {
	Name       string // of the network, and so of the HNS network
	CNIVersion string // empty if missing
	Type       string // of the plugin itself: "flannel"

	SubnetFile string // where subnet.env is; DefaultSubnetFile if missing
	DataDir    string // where Scratch keeps its files; DefaultDataDir if missing

	// IPv4Only is a member of ours ("ipv4Only"): leave out the IPv6 subnet.
	IPv4Only bool

	// Delegate are the members of "delegate"; nil if it is missing or null, which
	// Build refuses.
	Delegate map[string]json.RawMessage

	// IPAM are the members of the top-level "ipam"; nil if missing or null.
	IPAM map[string]json.RawMessage

	// What goes through to the delegate as it is; nil if missing or null.
	RuntimeConfig    json.RawMessage // object, made by the runtime
	Capabilities     json.RawMessage // object
	PrevResult       json.RawMessage // object
	Args             json.RawMessage // object
	DNS              json.RawMessage // object
	ValidAttachments json.RawMessage // array, "cni.dev/valid-attachments" of GC

	// Extra are the members that mean nothing here (logFile, disableCheck, ...).
	// They do not go to the delegate; it is for the caller to read or refuse them,
	// or to say which have no effect: see Unread.
	Extra map[string]json.RawMessage
}

// Parse reads a configuration. It checks the form: that it is JSON, what every
// verb needs, and the types of the members above. The delegate itself is checked
// by Validate and Build, so that a DEL can use what was saved even when somebody
// has spoilt the configuration since.
//
// The error is a *SyntaxError, or has a *FieldError for all that is wrong.
func Parse(stdin []byte) (*Config, error) {
	if err := checkSyntax(stdin); err != nil {
		return nil, err
	}
	o, err := decodeObject("", stdin, runtimeNames...)
	if err != nil {
		return nil, err
	}
	if written, value, ok := o.get("plugins"); ok {
		return nil, field(written, value, "makes this a configuration list; a plugin gets one entry of it, with the list's name and cniVersion")
	}
	t := taker{o: o}
	c := &Config{
		Name:             t.text("name", ""),
		CNIVersion:       t.version("cniVersion"),
		Type:             t.text("type", ""),
		SubnetFile:       t.text("subnetFile", DefaultSubnetFile),
		DataDir:          t.text("dataDir", DefaultDataDir),
		IPv4Only:         t.flag("ipv4Only"),
		Delegate:         t.object("delegate"),
		IPAM:             t.object("ipam"),
		RuntimeConfig:    t.raw("runtimeConfig", '{'),
		Capabilities:     t.raw("capabilities", '{'),
		PrevResult:       t.raw("prevResult", '{'),
		Args:             t.raw("args", '{'),
		DNS:              t.raw("dns", '{'),
		ValidAttachments: t.raw("cni.dev/valid-attachments", '['),
	}
	if len(t.errs) == 0 {
		t.errs = c.checkForm()
	}
	if err := inConfig(c.Name, t.errs); err != nil {
		return nil, err
	}
	for name, value := range o {
		if !t.known[name] {
			if c.Extra == nil {
				c.Extra = make(map[string]json.RawMessage)
			}
			c.Extra[name] = value
		}
	}
	return c, nil
}

// Unread returns the names of Extra, sorted, that neither a runtime reads nor
// whoever reads the names given; case does not count. They have no effect: upstream
// passes over them too, and a policies or ipMasq that stands beside delegate
// instead of in it does nothing.
func (c *Config) Unread(read ...string) []string {
	read = append([]string{"disableCheck", "disableGC", "cniVersions"}, read...)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Extra)) {
		if !slices.ContainsFunc(read, func(r string) bool { return strings.EqualFold(r, name) }) {
			out = append(out, name)
		}
	}
	return out
}

// runtimeNames are the members that a runtime sets, in its spelling.
var runtimeNames = []string{"cniVersion", "name", "prevResult", "runtimeConfig", "args", "cni.dev/valid-attachments"}

// checkForm checks what a Config that was not parsed may lack: a name that can be
// a file's, and members that are JSON.
func (c *Config) checkForm() []error {
	var t taker
	if c.Name == "" {
		t.fail(&FieldError{Path: "name", Reason: "is missing"})
	} else if utils.ValidateNetworkName(c.Name) != nil {
		t.fail(field("name", encode(c.Name), "is not a network name (letters and digits, then also _ . -)"))
	}
	check := func(path string, value json.RawMessage) {
		if !json.Valid(value) {
			t.fail(field(path, value, "is not JSON"))
		}
	}
	for path, members := range map[string]object{"delegate": c.Delegate, "ipam": c.IPAM} {
		for name, value := range members {
			check(join(path, name), value)
		}
	}
	for name, value := range c.passed() {
		check(name, value)
	}
	return t.errs
}

// passed are the members that go through, by their name.
func (c *Config) passed() map[string]json.RawMessage {
	all := map[string]json.RawMessage{
		"runtimeConfig": c.RuntimeConfig, "capabilities": c.Capabilities, "prevResult": c.PrevResult,
		"args": c.Args, "dns": c.DNS, "cni.dev/valid-attachments": c.ValidAttachments,
	}
	maps.DeleteFunc(all, func(_ string, value json.RawMessage) bool { return value == nil })
	return all
}

// taker reads members and collects what is wrong with them.
type taker struct {
	o     object
	path  string
	known map[string]bool // names as written of what was asked for
	errs  []error
}

func (t *taker) fail(err error) { t.errs = append(t.errs, err) }

func (t *taker) get(name string) (path string, value json.RawMessage, ok bool) {
	if written, _, ok := t.o.find(name); ok {
		if t.known == nil {
			t.known = make(map[string]bool)
		}
		t.known[written] = true
	}
	written, value, ok := t.o.get(name)
	return join(t.path, written), value, ok
}

// text reads a string that, if there, is not empty.
func (t *taker) text(name, missing string) string {
	path, value, ok := t.get(name)
	if !ok {
		return missing
	}
	var s string
	switch {
	case json.Unmarshal(value, &s) != nil:
		t.fail(field(path, value, "is not a string"))
	case strings.TrimSpace(s) == "":
		t.fail(field(path, value, "is empty"))
	}
	return s
}

// version reads a CNI version; an empty one counts as missing, as in libcni.
func (t *taker) version(name string) string {
	path, value, ok := t.get(name)
	if !ok || string(value) == `""` {
		return ""
	}
	s := t.text(name, "")
	if s != "" {
		if _, _, _, err := version.ParseVersion(s); err != nil {
			t.fail(field(path, value, "is not a version such as 1.0.0"))
		}
	}
	return s
}

func (t *taker) flag(name string) bool {
	path, value, ok := t.get(name)
	var b bool
	if ok && json.Unmarshal(value, &b) != nil {
		t.fail(field(path, value, "is neither true nor false"))
	}
	return b
}

func (t *taker) object(name string) object {
	path, value, ok := t.get(name)
	if !ok {
		return nil
	}
	o, err := decodeObject(path, value)
	if err != nil {
		t.fail(err)
	}
	return o
}

// raw reads a value that begins with the given delimiter.
func (t *taker) raw(name string, first byte) json.RawMessage {
	path, value, ok := t.get(name)
	if !ok {
		return nil
	}
	if value[0] != first {
		t.fail(field(path, value, map[byte]string{'{': "is not an object", '[': "is not a list"}[first]))
	}
	return value
}
