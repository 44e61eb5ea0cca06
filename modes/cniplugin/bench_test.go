package cniplugin_test

import (
	"testing"
)

// The whole ADD and the whole DEL on an HNS in memory, lock included; only IPAM is
// a stub.
func BenchmarkAdd(b *testing.B) {
	p := newBridge(b, nil).pod("sbx-01")
	b.ReportAllocs()
	for b.Loop() {
		p.mustAdd()
		b.StopTimer()
		p.mustDel()
		p.hns.ResetCalls()
		p.ipam.asked()
		b.StartTimer()
	}
}

func BenchmarkDel(b *testing.B) {
	p := newBridge(b, nil).pod("sbx-01")
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		p.mustAdd()
		p.hns.ResetCalls()
		p.ipam.asked()
		b.StartTimer()
		p.mustDel()
	}
}
