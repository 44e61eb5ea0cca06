// Package v1doc reads and writes the documents of schema 1 of HNS: what the v1
// API, PowerShell's Get-HnsNetwork and its siblings, and older programs speak.
// The objects are those of package hns.
//
//	n, err := v1doc.DecodeNetwork(doc)
//	n.DNS.ServerList = []string{"10.96.0.10"}
//	doc, err = v1doc.EncodeNetwork(n)
//
// Reading never fails on a value: what cannot be read is listed in the object's
// Document, with paths in the names of schema 2. Document.Raw is the document of
// schema 1. Writing goes out from it: members that this package does not know,
// and all that was not changed, stay as they stood; an object that was not
// changed gives its document back byte for byte. A value that could not be read
// stays, too, unless a new one takes its place. What schema 1 has no place
// for, such as a second address of a family, is an error with its path.
//
// [ToV2] and [ToV1] turn one text into the other, without an object between and
// as strictly as HNS reads: they are what the emulator's v1 API stands on.
//
// [Split] takes dumps apart: lists, answers of the v1 API, and the output of
// PowerShell's ConvertTo-Json.
//
// # What it is not
//
// The tables of Format-List are not read, and the package makes no calls.
package v1doc
