package hnstest

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hnskit/hnskit/hns"
)

// concurrencyCases put requests at the same time. Who wins is open; that one
// does, and that nothing is lost or given twice, is not.
func concurrencyCases() []scenario {
	return []scenario{
		{name: "concurrency/endpoints", sure: Client, source: "Kubernetes starts many pods at once", run: manyEndpoints},
		{name: "concurrency/one address", sure: Assumed, run: func(b *bench) {
			n := b.nat()
			b.race("creates", func(int) hns.Request { return b.endpointReq(n.id, "ep", address(host(1, 7))) }, hns.CodeObjectAlreadyExists)
		}},
		{name: "concurrency/one port", sure: Assumed, run: func(b *bench) {
			n := b.nat()
			b.race("creates", func(int) hns.Request { return b.endpointReq(n.id, "ep", policies(portMapping(6, 80, 23180))) }, hns.CodePortExists)
		}},
		{name: "concurrency/one name", sure: Assumed, run: func(b *bench) {
			b.race("creates", func(int) hns.Request { return createNetwork(b.plainDoc("net", "Private")) }, hns.CodeNetworkExists)
		}},
		{name: "concurrency/one front end", sure: Assumed, external: true, run: func(b *bench) {
			n := b.overlay()
			var eps [racers]hns.ID
			for i := range eps {
				eps[i] = b.endpoint(n.id, "ep").id
			}
			b.race("creates", func(i int) hns.Request {
				return createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{eps[i]}, vips("10.96.0.1"), ports(6, 80, 80)))
			}, hns.CodePortExists)
		}},
		{name: "concurrency/one endpoint, many namespaces", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			var namespaces [racers]hns.ID
			for i := range namespaces {
				namespaces[i] = b.namespace().id
			}
			b.race("adds", func(i int) hns.Request {
				return hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: namespaces[i], Document: []byte(endpointIn("Add", ep.id))}
			}, hns.CodeEndpointInNamespace)
		}},
		{name: "concurrency/one delete", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			b.race("deletes", func(int) hns.Request {
				return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: ep.id}
			}, hns.CodeEndpointNotFound)
		}},
		{name: "concurrency/policies added", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			b.together(func(i int) hns.Request {
				rule := policy("ACL", fmt.Sprintf(`{"Action":"Allow","Direction":"In","Protocols":"6","LocalPorts":"%d"}`, 8000+i))
				return hns.Request{Verb: hns.VerbModify, Kind: hns.KindEndpoint, ID: ep.id, Document: []byte(request("Add", "Policy", members(policies(rule))))}
			})
			b.check("none is lost", fmt.Sprint(len(each(b.get(hns.KindEndpoint, ep.id), "Policies"))), fmt.Sprint(racers))
		}},
		{name: "concurrency/lists while others delete", sure: Client, source: "Azure/azure-container-networking", run: func(b *bench) {
			n := b.nat()
			var eps [racers]hns.ID
			for i := range eps {
				eps[i] = b.endpoint(n.id, "ep").id
			}
			codes := b.together(func(i int) hns.Request {
				if i%2 == 0 {
					return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: eps[i]}
				}
				return hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: fmt.Sprintf(`{"VirtualNetwork":%q}`, n.id)}
			})
			b.check("all succeed", fmt.Sprint(codes[0]), fmt.Sprint(racers))
		}},
	}
}

// racers is how many requests are put at once.
const racers = 8

// together puts requests at once and counts the codes they end with.
func (b *bench) together(r func(i int) hns.Request) map[hns.Code]int {
	b.t.Helper()
	codes, _ := b.put(r)
	return codes
}

// put is together, with the objects made. Those are deleted in the end.
func (b *bench) put(r func(i int) hns.Request) (map[hns.Code]int, []object) {
	b.t.Helper()
	var mu sync.Mutex
	codes := map[hns.Code]int{}
	var docs [racers][]json.RawMessage
	var kinds [racers]hns.Kind
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		req := r(i)
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-start
			answer, code, err := b.ask(req)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.t.Errorf("%s %s: %v", req.Verb, req.Kind, err)
			}
			codes[code]++
			if req.Verb == hns.VerbCreate {
				docs[i], kinds[i] = answer, req.Kind
			}
		}()
	}
	close(start)
	wg.Wait()
	var made []object
	for i, ds := range docs {
		for _, d := range ds {
			made = append(made, object{b.own(kinds[i], d), d})
		}
	}
	return codes, made
}

// race puts requests of which one can succeed.
func (b *bench) race(step string, r func(i int) hns.Request, loser hns.Code) {
	b.t.Helper()
	codes, _ := b.put(r)
	b.check(step+": successes", fmt.Sprint(codes[0]), "1")
	b.check(step+": "+outcome(loser), fmt.Sprint(codes[loser]), fmt.Sprint(racers-1))
}

func manyEndpoints(b *bench) {
	n := b.nat()
	codes, made := b.put(func(i int) hns.Request { return b.endpointReq(n.id, fmt.Sprintf("ep%d", i)) })
	b.check("successes", fmt.Sprint(codes[0]), fmt.Sprint(racers))
	ids, addresses, macs := map[hns.ID]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range made {
		ids[o.id] = true
		addresses[text(o.doc, "IpConfigurations.0.IpAddress")] = true
		macs[text(o.doc, "MacAddress")] = true
	}
	b.check("ids", fmt.Sprint(len(ids)), fmt.Sprint(racers))
	b.check("addresses", fmt.Sprint(len(addresses)), fmt.Sprint(racers))
	b.check("MACs", fmt.Sprint(len(macs)), fmt.Sprint(racers))
}
