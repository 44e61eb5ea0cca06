package stories_test

import (
	"cmp"
	"encoding/json"
	"net"
	"os"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// fakeDelegate is a CNI plugin that does nothing but keep what it was given: the
// configuration of each verb goes to the file "<record>.<verb>". Its ADD gives
// "address" to the interface, or to one of the name "interface"; without an
// address it passes on what it got. With "failAdd" its ADD fails with that code,
// and with "failStatus" its STATUS.
func fakeDelegate() {
	skel.PluginMainFuncs(skel.CNIFuncs{
		Add: func(args *skel.CmdArgs) error {
			conf, err := record("add", args)
			if err != nil {
				return err
			}
			if conf.FailAdd != 0 {
				return types.NewError(conf.FailAdd, "the fake fails", "as it was told to")
			}
			if conf.Address.IP == nil {
				if err := version.ParsePrevResult(&conf.PluginConf); err != nil {
					return err
				}
				return types.PrintResult(conf.PrevResult, conf.CNIVersion)
			}
			return types.PrintResult(&types100.Result{
				CNIVersion: types100.ImplementedSpecVersion,
				Interfaces: []*types100.Interface{{Name: cmp.Or(conf.Interface, args.IfName), Sandbox: args.Netns}},
				IPs:        []*types100.IPConfig{{Interface: types100.Int(0), Address: net.IPNet(conf.Address)}},
			}, conf.CNIVersion)
		},
		Check: func(args *skel.CmdArgs) error { _, err := record("check", args); return err },
		Del:   func(args *skel.CmdArgs) error { _, err := record("del", args); return err },
		GC:    func(args *skel.CmdArgs) error { _, err := record("gc", args); return err },
		Status: func(args *skel.CmdArgs) error {
			conf, err := record("status", args)
			if err == nil && conf.FailStatus != 0 {
				err = types.NewError(conf.FailStatus, "the fake is not ready", "")
			}
			return err
		},
	}, version.All, "fake-delegate")
}

type fakeConf struct {
	types.PluginConf
	Record     string      `json:"record"`
	FailAdd    uint        `json:"failAdd"`
	FailStatus uint        `json:"failStatus"`
	Address    types.IPNet `json:"address"`
	Interface  string      `json:"interface"`
}

func record(verb string, args *skel.CmdArgs) (*fakeConf, error) {
	c := &fakeConf{}
	if err := json.Unmarshal(args.StdinData, c); err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.Record+"."+verb, args.StdinData, 0o600)
}
