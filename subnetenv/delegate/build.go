package delegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/subnetenv"
)

// Options are choices of the plugin's author. The zero value, and nil, do as
// upstream's flannel does.
type Options struct {
	// RequireType makes a delegate without a type an error. Else it is
	// DefaultType.
	RequireType bool

	// IPv4Only leaves the IPv6 subnet out, as "ipv4Only": true in the
	// configuration does.
	IPv4Only bool
}

// Build returns the configuration for the delegate, as the package comment says,
// in one line with sorted members.
//
// Errors: a *FieldError for all that is wrong in cfg, the error of env.Validate,
// ErrIPv6Only, ErrOverlayIPv6. Neither argument is changed.
func Build(cfg *Config, env *subnetenv.Env, opts *Options) ([]byte, error) {
	b, err := newBuilder(cfg, opts)
	if err != nil {
		return nil, err
	}
	if env == nil {
		return nil, errors.New("delegate: no subnet.env given")
	}
	if err := b.useEnv(env); err != nil {
		return nil, err
	}
	b.addresses()
	b.masquerade()
	if _, _, ok := b.out.get("mtu"); !ok {
		b.out.setValue("mtu", env.MTU)
	}
	if err := inConfig(cfg.Name, b.errs); err != nil {
		return nil, err
	}
	return encode(b.out), nil
}

// Validate reports what Build would refuse whatever the node's subnet.env says.
// STATUS wants to know that.
func (c *Config) Validate(opts *Options) error {
	_, err := newBuilder(c, opts)
	return err
}

// Rebuild returns a configuration that is good for DEL alone, without knowing the
// node's subnet: for when nothing was saved, or what was saved is broken, and
// subnet.env may be gone.
//
// host-local releases by container and interface; it wants some subnet and gets
// one from a documentation range (RFC 5737). Other IPAM plugins get what the
// configuration has. Members that only Build refuses are overridden or left out
// here; the delegate's type must still be known.
func Rebuild(cfg *Config, opts *Options) ([]byte, error) {
	b, err := startBuilder(cfg, opts)
	if err != nil {
		return nil, err
	}
	b.common()
	b.releaseOnly()
	if err := inConfig(cfg.Name, b.errs); err != nil {
		return nil, err
	}
	return encode(b.out), nil
}

// Refresh returns saved, a configuration from Build, with what the runtime sent
// with this call: the prevResult and cniVersion of a CHECK or DEL, runtimeConfig,
// args, the list of a GC.
func Refresh(saved []byte, cfg *Config) ([]byte, error) {
	if _, err := PluginType(saved); err != nil {
		return nil, err
	}
	o, err := decodeObject("", saved)
	if err != nil {
		return nil, err
	}
	b := &builder{cfg: cfg, out: o}
	if cfg.CNIVersion != "" {
		b.out.setValue("cniVersion", cfg.CNIVersion)
	}
	b.fromRuntime()
	if err := inConfig(cfg.Name, b.errs); err != nil {
		return nil, err
	}
	return encode(b.out), nil
}

// builder holds the configuration being made.
type builder struct {
	cfg  *Config
	opts Options
	typ  string
	out  object
	errs []error

	env  *subnetenv.Env
	ipv6 bool // both families are used
}

func (b *builder) fail(err error) { b.errs = append(b.errs, err) }

// startBuilder checks what ADD and DEL both need.
func startBuilder(cfg *Config, opts *Options) (*builder, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := inConfig(cfg.Name, cfg.checkForm()); err != nil {
		return nil, err
	}
	typ, err := delegateType(cfg, opts)
	if err != nil {
		return nil, inConfig(cfg.Name, []error{err})
	}
	return &builder{cfg: cfg, opts: *opts, typ: typ, out: object(cfg.Delegate).clone()}, nil
}

// newBuilder checks the delegate and the IPAM members and fills in what does not
// depend on the node.
func newBuilder(cfg *Config, opts *Options) (*builder, error) {
	b, err := startBuilder(cfg, opts)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"name", "ipam"} {
		if written, value, ok := b.out.find(name); ok {
			b.fail(field("delegate."+written, value, "is set by flannel and must not be there"))
		}
	}
	for _, name := range []string{"prevResult", "args", "cni.dev/valid-attachments"} {
		if written, value, ok := b.out.find(name); ok {
			b.fail(field("delegate."+written, value, "is for the runtime to set, not here"))
		}
	}
	t := taker{o: b.out, path: "delegate"}
	if v := t.version("cniVersion"); v != "" && cfg.CNIVersion != "" && v != cfg.CNIVersion {
		t.fail(field("delegate.cniVersion", encode(v), "contradicts cniVersion "+cfg.CNIVersion))
	}
	if path, value, ok := t.get("mtu"); ok {
		var n uint16
		if json.Unmarshal(value, &n) != nil {
			t.fail(field(path, value, "is not a number from 0 to 65535"))
		}
	}
	b.errs = append(b.errs, t.errs...)
	b.checkMasquerade()
	b.checkIPAM()
	b.common()
	if err := inConfig(cfg.Name, b.errs); err != nil {
		return nil, err
	}
	return b, nil
}

// delegateType returns the type of the delegate, a plugin's file name.
func delegateType(cfg *Config, opts *Options) (string, error) {
	if cfg.Delegate == nil {
		return "", &FieldError{Path: "delegate", Reason: "is missing"}
	}
	t := taker{o: cfg.Delegate, path: "delegate"}
	path, value, _ := t.get("type")
	typ := t.text("type", DefaultType)
	switch {
	case len(t.errs) > 0:
		return "", t.errs[0]
	case value == nil && opts.RequireType:
		return "", &FieldError{Path: path, Reason: "is missing"}
	case strings.ContainsAny(typ, `/\:`):
		return "", field(path, value, "is not the name of a plugin")
	case strings.EqualFold(kind(typ), "flannel"):
		return "", field(path, value, "would call itself for ever")
	}
	return typ, nil
}

// kind is the type as compared: runtimes find win-bridge.exe under either name.
func kind(typ string) string {
	return strings.TrimSuffix(strings.ToLower(typ), ".exe")
}

// isOverlay reports whether the plugin makes endpoints on an Overlay network.
func isOverlay(typ string) bool {
	return slices.Contains([]string{"win-overlay", "sdnoverlay"}, kind(typ))
}

// usesBridgeGateway reports whether the plugin's pods use network+2, the host's
// endpoint on the L2Bridge network, as their gateway.
func usesBridgeGateway(typ string) bool {
	return slices.Contains([]string{"win-bridge", "sdnbridge"}, kind(typ))
}

// common sets what is the same for ADD and DEL.
func (b *builder) common() {
	b.out.setValue("name", b.cfg.Name)
	b.out.setValue("type", b.typ)
	version := b.cfg.CNIVersion
	if version == "" {
		version = (&taker{o: b.out}).version("cniVersion")
	}
	if version == "" {
		version = DefaultCNIVersion
	}
	b.out.setValue("cniVersion", version)
	for name, value := range b.cfg.passed() {
		if _, _, own := b.out.get(name); ofUser(name) && !own {
			b.out.set(name, value)
		}
	}
	b.fromRuntime()
}

// ofUser tells, of the members that go through, what the user writes from what
// only a runtime does.
func ofUser(name string) bool { return name == "capabilities" || name == "dns" }

// fromRuntime sets what the runtime sent.
func (b *builder) fromRuntime() {
	for name, value := range b.cfg.passed() {
		if name != "runtimeConfig" && !ofUser(name) {
			b.out.set(name, value)
		}
	}
	if b.cfg.RuntimeConfig == nil {
		return
	}
	runtime, err := decodeObject("runtimeConfig", b.cfg.RuntimeConfig)
	if err != nil {
		b.fail(err)
		return
	}
	if written, value, ok := b.out.get("runtimeConfig"); ok {
		own, err := decodeObject("delegate."+written, value)
		if err != nil {
			b.fail(err)
			return
		}
		for name, value := range own {
			if _, _, ok := runtime.find(name); !ok {
				runtime[name] = value
			}
		}
	}
	b.out.setValue("runtimeConfig", runtime)
}

// useEnv decides on the families.
func (b *builder) useEnv(env *subnetenv.Env) error {
	if err := env.Validate(); err != nil {
		return err
	}
	if !env.HasIPv4() {
		return fmt.Errorf("%w: subnet.env has only %s=%s", ErrIPv6Only, subnetenv.KeyIPv6Subnet, env.IPv6Subnet)
	}
	b.env = env
	b.ipv6 = env.HasIPv6() && !b.opts.IPv4Only && !b.cfg.IPv4Only
	if b.ipv6 && isOverlay(b.typ) {
		return fmt.Errorf("%w, and delegate.type is %s: subnet.env has %s=%s; set \"ipv4Only\": true in the configuration to leave it out",
			ErrOverlayIPv6, b.typ, subnetenv.KeyIPv6Subnet, env.IPv6Subnet)
	}
	return nil
}

// networks are the flannel networks of the families that are used.
func (b *builder) networks() []netip.Prefix {
	if b.ipv6 {
		return slices.Concat(b.env.Networks, b.env.IPv6Networks)
	}
	return b.env.Networks
}

// checkMasquerade checks the user's own NAT members.
func (b *builder) checkMasquerade() {
	t := taker{o: b.out, path: "delegate"}
	t.flag("ipMasq")
	if path, value, ok := t.get("ipMasqNetwork"); ok {
		t.prefix(path, value)
	}
	if path, value, ok := t.get("ipMasqNetworks"); ok {
		t.list(path, value, func(path string, value json.RawMessage) { t.prefix(path, value) })
	}
	b.errs = append(b.errs, t.errs...)
}

// masquerade sets ipMasq, and the NAT exceptions only when it is true:
// kubernetes-sigs/sig-windows-tools#104.
func (b *builder) masquerade() {
	t := taker{o: b.out}
	masq := b.env.IPMasq
	if _, _, ok := t.get("ipMasq"); ok {
		masq = t.flag("ipMasq")
	} else {
		b.out.setValue("ipMasq", masq)
	}
	all := b.networks()
	for _, m := range []struct {
		name  string
		value any
	}{{"ipMasqNetwork", all[0]}, {"ipMasqNetworks", all}} {
		written, own, ok := b.out.get(m.name)
		switch {
		case ok && !masq:
			b.fail(field("delegate."+written, own, "asks for NAT, but ipMasq is false (set delegate.ipMasq to true, or take this out)"))
		case !ok && masq:
			b.out.setValue(m.name, m.value)
		}
	}
}
