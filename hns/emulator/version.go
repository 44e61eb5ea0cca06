package emulator

import (
	"math"

	"github.com/hnskit/hnskit/hns"
)

// Profiles: the HNS versions of the Windows releases in use.
var (
	// WindowsServer2019RTM is build 17763 as it was released: without remote
	// subnets, host routes and DSR.
	WindowsServer2019RTM = hns.Version{Major: 9, Minor: 1}
	// WindowsServer2019KB4489899 is build 17763 from March 2019 on: with
	// remote subnets and host routes, without DSR.
	WindowsServer2019KB4489899 = hns.Version{Major: 9, Minor: 2}
	// WindowsServer2019 is build 17763 with the updates from August 2020 on.
	WindowsServer2019 = hns.Version{Major: 9, Minor: 5}
	// Windows20H2 is build 19042, the first with two families on an endpoint.
	Windows20H2 = hns.Version{Major: 11, Minor: 10}
	// WindowsServer2022 is build 20348.
	WindowsServer2022 = hns.Version{Major: 13, Minor: 3}
	// WindowsServer2025 is build 26100.
	WindowsServer2025 = hns.Version{Major: 15, Minor: 4}
	// WindowsServer2025Serviced is build 26100 with the updates of 2026.
	WindowsServer2025Serviced = hns.Version{Major: 16, Minor: 0}
)

// versions is a list of version ranges, both ends included.
type versions [][2]hns.Version

func since(major, minor uint32) versions {
	return versions{{{Major: major, Minor: minor}, {Major: math.MaxUint32, Minor: math.MaxUint32}}}
}

// within is a range that ends with the major version.
func within(major, minor uint32) [2]hns.Version {
	return [2]hns.Version{{Major: major, Minor: minor}, {Major: major, Minor: math.MaxUint32}}
}

func (r versions) has(v hns.Version) bool {
	for _, x := range r {
		if !v.Less(x[0]) && !x[1].Less(v) {
			return true
		}
	}
	return false
}

// What HNS learnt when, as far as the emulator needs it.
var (
	hasRemoteSubnet       = since(9, 2)
	hasSlash32            = append(versions{within(9, 3)}, since(10, 4)...)
	hasIPSubnets          = since(10, 0)
	hasVxlanPort          = since(10, 3)
	hasDualStack          = since(11, 10)
	hasSetPolicy          = since(13, 0)
	hasManySubnets        = since(13, 0)
	hasL4WFPProxy         = since(13, 2)
	hasTierACL            = since(14, 0)
	hasNetworkACL         = since(15, 0)
	hasDisableHost        = since(15, 1)
	hasL4Proxy            = append(versions{within(9, 5), within(10, 5), within(11, 11), within(12, 1)}, since(13, 1)...)
	hasDSR                = append(versions{within(9, 3)}, since(10, 2)...)
	sharesPorts           = since(9, 3)
	hasProtocol252        = since(11, 0)
	hasSessionAffinity    = since(12, 0)
	hasModifyLoadBalancer = since(15, 4)
	hasAccelnet           = since(15, 4)
	hasFirewall           = since(15, 0)
	hostBitsRefused       = since(13, 0)
	reservedSince         = hns.Version{Major: 10}
)
