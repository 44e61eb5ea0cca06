package emulator

import "container/heap"

// freelist finds the lowest free number of a range without looking at the
// numbers in use one by one. It is only a cache: whether a number is in use is
// asked of the caller each time, so a change that is undone does no harm as
// long as every number given back is reported.
type freelist struct {
	high   uint64 // no number from here on was looked at yet
	freed  minHeap
	queued map[uint64]bool // what freed holds
}

// lowest returns the lowest number n <= last that is not in use.
func (f *freelist) lowest(last uint64, used func(uint64) bool) (uint64, bool) {
	for len(f.freed) > 0 {
		n := f.freed[0]
		if n > last {
			return 0, false
		}
		if !used(n) {
			return n, true
		}
		heap.Pop(&f.freed)
		delete(f.queued, n)
	}
	for ; f.high <= last; f.high++ {
		if !used(f.high) {
			return f.high, true
		}
		if f.high == ^uint64(0) {
			break
		}
	}
	return 0, false
}

// release reports that n is no longer in use.
func (f *freelist) release(n uint64) {
	if n >= f.high || f.queued[n] {
		return
	}
	if f.queued == nil {
		f.queued = map[uint64]bool{}
	}
	f.queued[n] = true
	heap.Push(&f.freed, n)
}

type minHeap []uint64

func (h minHeap) Len() int           { return len(h) }
func (h minHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h minHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *minHeap) Push(x any)        { *h = append(*h, x.(uint64)) }
func (h *minHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
