// Command cniclient drives a CNI plugin in the way containerd does, and says
// what containerd would make of the answer. It exists for tests.
//
//	cniclient add|check|del|gc|status -conf FILE -plugins DIR[,DIR] -id ID -netns NS [flags]
//
// The configuration (a list, or one plugin's) is loaded and the result of ADD
// is read by github.com/containerd/go-cni, the library inside containerd. The
// plugins are run through libcni, which go-cni uses too, because go-cni has no
// option for the directory where libcni keeps results between ADD, CHECK and
// DEL, and the default one needs root and is shared by everybody.
//
// add prints one line of JSON (see report). The exit code is 1, with the reason
// on standard error, when the plugin fails, and also when ADD succeeds without
// an address on the pod's interface: containerd then refuses every pod.
// del is stricter than containerd, which lets an error pass whose text has
// "not found" in it. check without an earlier add in the same cache fails as it
// would in a runtime that has lost its cache. gc names the attachments of -valid
// as valid; libcni deletes those of its cache that are not among them first.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
)

// options are the flags common to all verbs.
type options struct {
	verb    string
	conf    string
	plugins []string
	id      string
	netns   string
	ifName  string
	cache   string
	timeout time.Duration
	args    map[string]string
	caps    map[string]any
	valid   []types.GCAttachment
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cniclient: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	rt, err := load(o, stderr)
	if err != nil {
		return fmt.Errorf("load %s: %w", o.conf, err)
	}
	switch o.verb {
	case "add":
		rep, err := rt.add(ctx)
		if err != nil {
			return fmt.Errorf("add: %w", withCode(err))
		}
		if err := json.NewEncoder(stdout).Encode(rep); err != nil {
			return err
		}
		if rep.PodIP == "" {
			return fmt.Errorf("add: the result has no address on %s: containerd refuses such a pod", o.ifName)
		}
		return nil
	case "check":
		err = rt.lib.CheckNetworkList(ctx, rt.list, rt.conf)
	case "del":
		err = rt.lib.DelNetworkList(ctx, rt.list, rt.conf)
	case "gc":
		err = rt.lib.GCNetworkList(ctx, rt.list, &libcni.GCArgs{ValidAttachments: o.valid})
	case "status":
		err = rt.lib.GetStatusNetworkList(ctx, rt.list)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.verb, withCode(err))
	}
	return nil
}

// parseOptions reads the command line and refuses what is missing.
func parseOptions(args []string, stderr io.Writer) (*options, error) {
	const usage = "usage: cniclient add|check|del|gc|status -conf FILE -plugins DIR[,DIR] -id ID -netns NS [flags]"
	o := &options{args: map[string]string{}, caps: map[string]any{}}
	if len(args) == 0 {
		return nil, errors.New(usage)
	}
	o.verb = args[0]
	switch o.verb {
	case "add", "check", "del", "gc", "status":
	default:
		return nil, fmt.Errorf("unknown verb %q; %s", o.verb, usage)
	}
	fs := flag.NewFlagSet("cniclient "+o.verb, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.conf, "conf", "", "`file` with the network configuration (.conflist: a list; else one plugin's, or a list if it has \"plugins\")")
	plugins := fs.String("plugins", "", "comma-separated `directories` of the plugins (CNI_PATH)")
	fs.StringVar(&o.id, "id", "", "container `id` (CNI_CONTAINERID)")
	fs.StringVar(&o.netns, "netns", "", "network `namespace` (CNI_NETNS): a path, or an id on Windows; may be empty for del")
	fs.StringVar(&o.ifName, "if", "eth0", "interface `name` (CNI_IFNAME); ends in 0, as go-cni numbers interfaces")
	fs.StringVar(&o.cache, "cache", "", "`directory` where results are kept between add, check and del; one user's default if empty")
	fs.DurationVar(&o.timeout, "timeout", 2*time.Minute, "time limit")
	fs.Func("arg", "`KEY=VALUE` for CNI_ARGS, beside or instead of those containerd sets; may be repeated", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return errors.New("want KEY=VALUE")
		}
		o.args[k] = v
		return nil
	})
	fs.Func("cap", "`NAME=JSON`: a capability argument such as portMappings=[...]; may be repeated", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return errors.New("want NAME=JSON")
		}
		var value any
		if err := json.Unmarshal([]byte(v), &value); err != nil {
			return err
		}
		o.caps[k] = value
		return nil
	})
	fs.Func("valid", "`ID/IFNAME` of an attachment that is valid, for gc; may be repeated", func(s string) error {
		id, ifName, ok := strings.Cut(s, "/")
		if !ok {
			return errors.New("want ID/IFNAME")
		}
		o.valid = append(o.valid, types.GCAttachment{ContainerID: id, IfName: ifName})
		return nil
	})
	if err := fs.Parse(args[1:]); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *plugins != "" {
		o.plugins = strings.Split(*plugins, ",")
	}
	return o, o.complete()
}

// complete fills in defaults and reports every missing flag at once.
func (o *options) complete() error {
	var missing []string
	if o.conf == "" {
		missing = append(missing, "-conf")
	}
	if len(o.plugins) == 0 {
		missing = append(missing, "-plugins")
	}
	if o.verb != "status" && o.verb != "gc" {
		if o.id == "" {
			missing = append(missing, "-id")
		}
		if o.netns == "" && o.verb != "del" {
			missing = append(missing, "-netns")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: missing %s", o.verb, strings.Join(missing, ", "))
	}
	if !strings.HasSuffix(o.ifName, "0") || o.ifName == "0" {
		return fmt.Errorf("-if %q: want a prefix and 0, such as eth0", o.ifName)
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("no default for -cache: %w", err)
		}
		o.cache = filepath.Join(dir, "hnskit", "cniclient")
	}
	return nil
}
