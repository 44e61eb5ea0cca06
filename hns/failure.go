package hns

import (
	"regexp"
	"strconv"
	"strings"
)

// FailuresIn returns the failures of HNS that a text tells of, such as a line of
// a log or what PowerShell prints, in order, each code once. The text is
// searched for codes in the forms in which HNS, its clients and PowerShell write
// them, never for messages: those are in the system's language. Verb and Kind
// are there if the text names the call (hcnCreateEndpoint, say) before the code.
//
// Nil if there is no code. What older clients print has none ("HNS failed with
// error : Unspecified error"), and cannot be told apart.
func FailuresIn(text string) []*Error {
	var out []*Error
	seen := map[Code]bool{}
	for _, m := range failureCode.FindAllStringSubmatchIndex(text, -1) {
		code, ok := codeAt(text, m)
		if !ok || seen[code] {
			continue
		}
		seen[code] = true
		verb, kind := callIn(text[:m[0]])
		op := "failure"
		if verb != 0 {
			op = verb.String() + " " + kind.String()
		}
		out = append(out, &Error{Op: op, Verb: verb, Kind: kind, Code: code})
	}
	return out
}

// failureCode finds codes: an HRESULT in hex; what stands in brackets after a
// message of Win32, as hcsshim prints it; and the decimal number of an error
// record, with its name before it or at the begin of a trace.
var failureCode = regexp.MustCompile(`\b0[xX](8[0-9a-fA-F]{7})\b|Win32: [^()]*\(0x([0-9a-fA-F]{1,8})\)|(?:ErrorCode\W{1,6}|HRESULT\W{1,4}|\{)(2[0-9]{9})\b`)

// codeAt returns the code of a match. In bare form only codes of HNS and of
// Win32 count, so that an address in a dump of memory is not one.
func codeAt(text string, m []int) (Code, bool) {
	for group, base := range []int{16, 16, 10} {
		from, to := m[2*group+2], m[2*group+3]
		if from < 0 {
			continue
		}
		n, err := strconv.ParseUint(text[from:to], base, 32)
		if err != nil || n == 0 {
			return 0, false
		}
		c := NewCode(uint32(n))
		_, win32 := c.Win32()
		_, known := codeNames[c]
		return c, known || win32 || c>>16 == 0x803b || c>>16 == 0x8004
	}
	return 0, false
}

var (
	failedCall = regexp.MustCompile(`(?i)hcn(create|open|query|modify|delete|enumerate)(network|endpoint|namespace|loadbalancer|sdnroute)`)
	callVerbs  = map[string]Verb{"create": VerbCreate, "open": VerbGet, "query": VerbGet, "modify": VerbModify, "delete": VerbDelete, "enumerate": VerbList}
	callKinds  = map[string]Kind{"network": KindNetwork, "endpoint": KindEndpoint, "namespace": KindNamespace, "loadbalancer": KindLoadBalancer, "sdnroute": KindRoute}
)

// callIn returns the last call of HNS that a text names.
func callIn(text string) (Verb, Kind) {
	all := failedCall.FindAllStringSubmatch(text, -1)
	if all == nil {
		return 0, 0
	}
	last := all[len(all)-1]
	return callVerbs[strings.ToLower(last[1])], callKinds[strings.ToLower(last[2])]
}
