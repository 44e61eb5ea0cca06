package main

import (
	"errors"
	"fmt"
)

// idleFlag is a flag of flanneld that has nothing to do here.
type idleFlag struct {
	name    string
	check   func(string) error // what flanneld takes
	boolean bool
	// why nothing comes of it, for the log.
	why string
	// refuse reports whether a value asks for what would be missed.
	refuse func(text string) bool
	secret bool
}

// etcdFlags are read by flanneld only where subnets come from etcd.
var etcdFlags = []string{"etcd-endpoints", "etcd-prefix", "etcd-keyfile", "etcd-certfile", "etcd-cafile", "etcd-username", "etcd-password"}

// idleFlags are those flags, but for etcd's.
var idleFlags = []idleFlag{
	{name: "kube-subnet-mgr", check: checked(parseBool), boolean: true,
		refuse: func(t string) bool { v, _ := parseBool(t); return !v }, why: "subnets come from Kubernetes, never from etcd"},
	{name: "public-ipv6", check: checked(anyText),
		refuse: func(t string) bool { return t != "" }, why: "a Windows node is reached by IPv4 here"},
	{name: "subnet-lease-renew-margin", check: checked(between(1, 24*60-1)), why: "leases of etcd run out, those of Kubernetes do not"},
	{name: "ip-masq-fully-random-disable", check: checked(parseBool), boolean: true, why: "it is an option of iptables; Windows chooses the ports itself"},
	{name: "iptables-resync", check: checked(parseInt), why: "there is no iptables; --resync says how often everything is looked at"},
	{name: "iptables-forward-rules", check: checked(parseBool), boolean: true, why: "there is no iptables; the node's forwarding is switched on where the network needs it"},
	{name: "ip-blackhole-route", check: checked(parseBool), boolean: true, why: "there is no such route on Windows, in flanneld neither"},
	{name: "vmodule", check: checked(anyText), why: "only -v and --log-level set the level of the log"},
	{name: "log_backtrace_at", check: checked(anyText), why: "the log has no stack traces"},
}

// checked is a parser whose value nobody needs.
func checked[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// defineIdle defines them: what would change something is refused, the rest
// leaves a line in the log.
func (f *flags) defineIdle() {
	for _, i := range idleFlags {
		v := f.add(i.name, "", "of flanneld: "+i.why, func(text string) error {
			if err := i.check(text); err != nil {
				return err
			}
			if i.refuse != nil && i.refuse(text) {
				return errors.New(i.why)
			}
			if i.name != "kube-subnet-mgr" { // it is as asked for
				f.note(i.name, i.why)
			}
			return nil
		})
		v.boolean, v.secret = i.boolean, i.secret
	}
	for _, name := range etcdFlags {
		f.add(name, "", "of flanneld: there is no etcd here, as with --kube-subnet-mgr there", checked(anyText)).secret = true
	}
}

// checkEtcd refuses flags for etcd, unless --kube-subnet-mgr says that they do
// not count: with flanneld they mean that subnets come from etcd.
func (f *flags) checkEtcd() {
	for _, name := range etcdFlags {
		v := f.set.Lookup(name).Value.(*value)
		switch {
		case !v.given:
		case f.set.Lookup("kube-subnet-mgr").Value.(*value).given:
			f.note(name, "subnets come from Kubernetes, never from etcd")
		default:
			f.faults = append(f.faults, fmt.Errorf("--%s: subnets come from Kubernetes, never from etcd; --kube-subnet-mgr says that this is meant", name))
		}
	}
}

func (f *flags) note(name, why string) {
	f.config.notes = append(f.config.notes, fmt.Sprintf("--%s has no effect: %s", name, why))
}
