package cniplugin

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/containernetworking/cni/pkg/skel"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// Verbs are the verbs of a plugin, each a function of its own so that a
// plugin and a meta-plugin share what is around them.
type Verbs struct {
	Add   func(context.Context, *skel.CmdArgs) (*types100.Result, error)
	Check func(context.Context, *skel.CmdArgs) error
	Del   func(context.Context, *skel.CmdArgs) error
	// GC may be nil: then nothing is ever stale.
	GC func(context.Context, *skel.CmdArgs) error
	// Status may be nil: then the plugin is always ready.
	Status func(context.Context, *skel.CmdArgs) error
}

// Verbs returns the plugin's verbs.
func (p *Plugin) Verbs() Verbs {
	return Verbs{Add: p.Add, Check: p.Check, Del: p.Del, GC: p.GC, Status: p.Status}
}

// Main runs the plugin as a process: it reads the environment and stdin as the
// CNI specification says, writes one JSON document to stdout, and exits with
// status 1 on an error.
func (p *Plugin) Main() { p.Verbs().Main(p.Name) }

// Main is [Plugin.Main] for verbs from elsewhere; name is for the text that a
// call without CNI_COMMAND gets.
func (v Verbs) Main(name string) {
	conf, err := readStdin()
	if err == nil {
		err = skel.PluginMainFuncsWithError(v.Funcs(), version.All, "CNI plugin "+name)
	}
	if err != nil {
		_ = writeError(os.Stdout, err, conf) // to a standard output that is closed there is nothing to say
		os.Exit(1)
	}
}

// Funcs returns the verbs as skel wants them: the result goes to stdout in the
// version of the configuration, errors become CNI errors, and a panic is an
// error like any other. skel prints errors without cniVersion; Main does not.
func (v Verbs) Funcs() skel.CNIFuncs {
	funcs := skel.CNIFuncs{
		Add: guarded(func(args *skel.CmdArgs) error {
			res, err := v.Add(context.Background(), args)
			if err != nil {
				return err
			}
			return printResult(res, args.StdinData)
		}),
		Check: guarded(func(args *skel.CmdArgs) error { return v.Check(context.Background(), args) }),
		Del:   guarded(func(args *skel.CmdArgs) error { return v.Del(context.Background(), args) }),
	}
	if v.GC != nil {
		funcs.GC = guarded(func(args *skel.CmdArgs) error { return v.GC(context.Background(), args) })
	}
	if v.Status != nil {
		funcs.Status = guarded(func(args *skel.CmdArgs) error { return v.Status(context.Background(), args) })
	}
	return funcs
}

func guarded(f func(*skel.CmdArgs) error) func(*skel.CmdArgs) error {
	return func(args *skel.CmdArgs) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = CNIError(&panicError{p, debug.Stack()})
			}
		}()
		if err := f(args); err != nil {
			return CNIError(err)
		}
		return nil
	}
}

// printResult writes nothing unless it can write all: an error would be a
// second document.
func printResult(res *types100.Result, stdin []byte) error {
	v, err := (&version.ConfigDecoder{}).Decode(stdin)
	if err != nil {
		return err
	}
	converted, err := res.GetAsVersion(v)
	if err != nil {
		return fmt.Errorf("result in version %s: %w", v, err)
	}
	return converted.PrintTo(os.Stdout)
}
