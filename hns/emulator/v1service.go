package emulator

import (
	"encoding/json"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// statsV1 returns the counters of an endpoint. Nothing flows, so all are zero.
func (tx *tx) statsV1(e *endpoint) object {
	o := object{}
	for _, name := range []string{"BytesReceived", "BytesSent", "DroppedPacketsIncoming", "DroppedPacketsOutgoing"} {
		o = append(o, member{name, number(0)})
	}
	o = append(o, member{"EndpointId", tx.idV1(e.id)}, member{"InstanceId", tx.idV1(e.id)})
	return append(o, member{"PacketsReceived", number(0)}, member{"PacketsSent", number(0)})
}

// callAccelnet reads and writes the MAC addresses of the host that accelerated
// networking leaves alone (HNSNnvManagementMacList of hcsshim). Each call
// answers with the list as it is then.
func (tx *tx) callAccelnet(r hns.Request) ([]json.RawMessage, error) {
	if !hasAccelnet.has(tx.version) {
		return nil, failure(hns.CodeRequestUnsupported)
	}
	switch r.Method {
	case "GET":
	case "DELETE":
		tx.setAccelnet(nil)
	case "POST":
		macs, err := readAccelnet(r.Document)
		if err != nil {
			return nil, err
		}
		tx.setAccelnet(macs)
	default:
		return nil, failure(hns.CodeRequestUnsupported)
	}
	elems := []json.RawMessage{}
	for _, mac := range tx.accelnet {
		elems = append(elems, object{{"MacAddress", quote(mac)}}.bytes())
	}
	return outputOf(object{{"MacAddressList", list(elems)}}, nil)
}

func readAccelnet(doc json.RawMessage) (macs []string, err error) {
	body, err := bodyOf(doc)
	if err != nil {
		return nil, err
	}
	for _, e := range body.objects("MacAddressList") {
		mac := e.str("MacAddress")
		if e.bad {
			return nil, failure(hns.CodeInvalidJSON)
		}
		if _, err := hns.ParseMAC(mac); err != nil {
			return nil, failure(hns.CodeInvalidParameter)
		}
		if !slices.Contains(macs, mac) {
			macs = append(macs, mac)
		}
	}
	if body.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	return macs, nil
}
