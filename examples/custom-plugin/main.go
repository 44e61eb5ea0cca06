// Command custom-plugin shows a CNI plugin of one's own: what win-bridge does,
// and two things more. An ACL keeps every pod from the cloud's metadata service,
// and what the pod sends is tagged with the VLAN of the configuration's key vlan,
// if it has one.
//
// As a start for a plugin outside this module, take it without hnsopen, which is
// the module's own: with Open left out a plugin speaks to the HNS of the machine.
// Its tests may set Open to a function that returns hns.New(h, opts) for an
// emulated HNS, h of emulator.New or emulator.Open.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

const metadataService = "169.254.169.254/32"

func main() {
	(&cniplugin.Plugin{
		Name: "custom-plugin", Mode: modes.L2Bridge,
		Open:  hnsopen.Open, // for the tests of this module; nil is the HNS of the machine
		Hooks: cniplugin.Hooks{BeforeCreate: addPolicies},
	}).Main()
}

// addPolicies changes the endpoint that ADD is about to make. CHECK calls it too,
// so a policy that somebody took away is found.
func addPolicies(_ context.Context, pod *cniplugin.Pod, e *hns.Endpoint) error {
	var conf struct {
		VLAN uint32 `json:"vlan"`
	}
	if err := json.Unmarshal(pod.Config.Raw, &conf); err != nil {
		return &hns.FieldError{Path: "vlan", Reason: err.Error()}
	}
	if conf.VLAN > 4094 {
		return &hns.FieldError{Path: "vlan", Value: fmt.Sprint(conf.VLAN), Reason: "a VLAN id is 1 to 4094"}
	}
	if conf.VLAN > 0 {
		e.Policies = append(e.Policies, hns.VLAN{IsolationID: conf.VLAN})
	}
	// On Windows Server 2025 one block rule makes the default a block, so what
	// is allowed has to be said too.
	e.Policies = append(e.Policies,
		hns.ACL{Action: hns.ACLBlock, Direction: hns.Out, RemoteAddresses: []string{metadataService}, Priority: 200},
		hns.ACL{Action: hns.ACLAllow, Direction: hns.Out, Priority: hns.MaxACLPriority},
		hns.ACL{Action: hns.ACLAllow, Direction: hns.In, Priority: hns.MaxACLPriority})
	return nil
}
