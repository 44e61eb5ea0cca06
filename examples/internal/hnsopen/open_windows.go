package hnsopen

import "github.com/hnskit/hnskit/hns"

// Open returns a client of this machine's HNS.
func Open(opts *hns.Options) (*hns.Client, error) { return hns.Open(opts) }
