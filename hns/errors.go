package hns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What an error means, for errors.Is. One error may match several: an address
// that is taken is ErrAddressInUse and ErrExists.
var (
	// ErrNotFound: the object asked for does not exist, or one it refers to.
	// A stopped service is never this.
	ErrNotFound = errors.New("not found")
	// ErrExists: an object of that name, id, address or port is there already.
	ErrExists = errors.New("already exists")
	// ErrAddressInUse: the address belongs to another endpoint of the network.
	ErrAddressInUse = errors.New("address in use")
	// ErrOverlap: the subnet overlaps one of another network.
	ErrOverlap = errors.New("overlaps another network")
	// ErrAttached: the endpoint is attached already, perhaps elsewhere.
	ErrAttached = errors.New("already attached")
	// ErrInUse: the object cannot go or change because something still uses
	// it, or the host uses the port asked for.
	ErrInUse = errors.New("in use")
	// ErrInvalid: a value was refused, here or by HNS.
	ErrInvalid = errors.New("invalid")
	// ErrInvalidPolicy: a policy was refused, here or by HNS. Also ErrInvalid.
	ErrInvalidPolicy = errors.New("invalid policy")
	// ErrUnsupported: this HNS cannot do it.
	ErrUnsupported = errors.New("not supported")
	// ErrUnavailable: the service is stopped, stopping or restarting. Nothing
	// is known about the object; try again later.
	ErrUnavailable = errors.New("HNS unavailable")
	// ErrDenied: the caller lacks the rights; HNS wants elevation.
	ErrDenied = errors.New("access denied")
	// ErrDegraded: the object is in a state that allows no such operation.
	ErrDegraded = errors.New("degraded")
	// ErrAmbiguous: several objects have the name. HNS endpoint names are not
	// unique.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrNotSent: the request did not leave the client, so nothing happened:
	// the context was done before, or too many calls hang.
	ErrNotSent = errors.New("request not sent")
	// ErrOutcomeUnknown: the context ended while HNS worked. A create, modify or
	// delete may have happened, or may yet happen; a read changes nothing, and
	// its text says that HNS did not answer.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrLeftBehind: a step failed and so did taking back what came before it;
	// something may still be there, or something that was deleted to be made anew
	// is gone. The error says what.
	ErrLeftBehind = errors.New("left behind")
	// ErrUnsupportedOS: there is no HNS on this operating system.
	ErrUnsupportedOS = errors.New("HNS needs Windows")
)

// Error is a failed operation on HNS.
type Error struct {
	// Op is what was tried, such as "create endpoint" or "attach endpoint".
	Op string
	// Verb and Kind are the same as data, where one request failed; zero
	// otherwise.
	Verb Verb
	Kind Kind
	// Ref names the object: its id, its name in quotes, or both.
	Ref string
	// Code is the HRESULT, zero if HNS gave none.
	Code Code
	// Text is the message of HNS in the system's language, if any. Never
	// match on it.
	Text string
	// Err is the cause: a sentinel of this package, a *FieldError, a context
	// error, or another error.
	Err error
}

// Error returns "hns: create endpoint "x": HCN_E_… (0x…): text".
func (e *Error) Error() string {
	parts := []string{"hns: " + strings.TrimSpace(e.Op+" "+e.Ref)}
	if e.Code != 0 {
		parts = append(parts, e.Code.String())
	}
	if t := strings.Join(strings.Fields(e.Text), " "); t != "" { // HNS breaks lines in its messages
		parts = append(parts, clip(t, 300))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether e means target, one of the sentinels of this package.
func (e *Error) Is(target error) bool {
	for _, m := range meanings(e.Verb, e.Kind, e.Code) {
		if m == target {
			return true
		}
	}
	return false
}

// FieldError is a value that may not be sent, or a text that cannot be read.
// It matches [ErrInvalid], and [ErrInvalidPolicy] when it lies in a policy.
type FieldError struct {
	// Path leads to the value, in the names of the HNS schema, such as
	// "Policies[1].Settings.Exceptions[0]". Empty for a value that stands alone.
	Path string
	// Value is the offending text; empty when the value is missing.
	Value string
	// Reason says what is wrong.
	Reason string
	// Rule is the id of the check, for Options.Allow; empty for checks that
	// cannot be lifted.
	Rule string
}

// Error returns path, value and reason.
func (e *FieldError) Error() string {
	s := e.Reason
	if e.Value != "" {
		s = fmt.Sprintf("%q: %s", e.Value, s)
	}
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	return s
}

// Is reports whether target is [ErrInvalid] or, inside a policy,
// [ErrInvalidPolicy].
func (e *FieldError) Is(target error) bool {
	return target == ErrInvalid || target == ErrInvalidPolicy && inPolicy(e.Path)
}

// inPolicy reports whether a path leads into a policy: nothing else in the
// documents has settings.
func inPolicy(path string) bool {
	return strings.Contains(path, "Policies[") || path == "Settings" || strings.HasPrefix(path, "Settings.") || strings.Contains(path, ".Settings")
}

// in returns the error with prefix put before its path.
func (e *FieldError) in(prefix string) *FieldError {
	c := *e
	if c.Path = prefix + "." + e.Path; e.Path == "" {
		c.Path = prefix
	}
	return &c
}

// errorKey selects meanings.
type errorKey struct {
	verb Verb
	kind Kind
	code Code
}

// codeMeanings holds what a code means whatever the operation.
var codeMeanings = map[Code][]error{
	CodeNetworkNotFound:           {ErrNotFound},
	CodeEndpointNotFound:          {ErrNotFound},
	CodeLayerNotFound:             {ErrNotFound},
	CodeSwitchNotFound:            {ErrNotFound},
	CodeSubnetNotFound:            {ErrNotFound},
	CodeAdapterNotFound:           {ErrNotFound},
	CodePortNotFound:              {ErrNotFound},
	CodePolicyNotFound:            {ErrNotFound},
	CodeVFPPortSettingNotFound:    {ErrNotFound},
	CodeSwitchExtensionNotFound:   {ErrNotFound},
	CodeElementNotFound:           {ErrNotFound},
	CodeObjectNotFound:            {ErrNotFound},
	CodeInvalidNetwork:            {ErrInvalid},
	CodeInvalidNetworkType:        {ErrInvalid},
	CodeInvalidEndpoint:           {ErrInvalid},
	CodeInvalidPolicy:             {ErrInvalidPolicy, ErrInvalid},
	CodeInvalidPolicyType:         {ErrInvalidPolicy, ErrInvalid},
	CodeInvalidRemoteOperation:    {ErrInvalid},
	CodeNetworkExists:             {ErrExists},
	CodeLayerExists:               {ErrExists},
	CodePolicyExists:              {ErrExists},
	CodePortExists:                {ErrExists},
	CodeAlreadyExists:             {ErrExists},
	CodeDuplicateName:             {ErrExists},
	CodeObjectAlreadyExists:       {ErrExists},
	CodeEndpointAttached:          {ErrAttached},
	CodeEndpointInNamespace:       {ErrAttached},
	CodeRequestUnsupported:        {ErrUnsupported},
	CodeMappingNotSupported:       {ErrUnsupported},
	CodeSharingDisabled:           {ErrUnsupported},
	CodeVFPNotAllowed:             {ErrUnsupported},
	CodeICSDisabled:               {ErrUnsupported},
	CodeNotImplemented:            {ErrUnsupported},
	CodeProcNotFound:              {ErrUnsupported},
	CodeModuleNotFound:            {ErrUnsupported},
	CodeDegraded:                  {ErrDegraded},
	CodeNamespaceAttachFailed:     {ErrDegraded},
	CodeSharedSwitchModification:  {ErrInUse},
	CodeHasReferences:             {ErrInUse},
	CodeSharingViolation:          {ErrInUse},
	CodeGUIDConversion:            {ErrInvalid},
	CodeInvalidJSON:               {ErrInvalid},
	CodeInvalidJSONReference:      {ErrInvalid},
	CodeInvalidIP:                 {ErrInvalid},
	CodeInvalidInternalPort:       {ErrInvalidPolicy, ErrInvalid},
	CodeAddressInvalidOrReserved:  {ErrInvalid},
	CodeInvalidPrefix:             {ErrInvalid},
	CodeInvalidSubnet:             {ErrInvalid},
	CodeInvalidIPSubnet:           {ErrInvalid},
	CodeEndpointNotAttached:       {ErrInvalid},
	CodeEndpointNotLocal:          {ErrInvalid},
	CodeInterfaceParametersExists: {ErrInvalidPolicy, ErrInvalid},
	CodeInvalidParameter:          {ErrInvalid},
	CodeAccessDenied:              {ErrDenied},
	CodeManagerStopped:            {ErrUnavailable},
	CodeServiceNotActive:          {ErrUnavailable},
	CodeRPCUnavailable:            {ErrUnavailable},
	CodeRPCCallFailed:             {ErrUnavailable},
	CodeRPCCallFailedDNE:          {ErrUnavailable},
	CodeRPCNotRegistered:          {ErrUnavailable},
}

// operationMeanings refines codeMeanings where the same code says something
// else, or something more, of one operation. It replaces the general meaning.
var operationMeanings = map[errorKey][]error{
	{VerbCreate, KindEndpoint, CodeObjectAlreadyExists}:      {ErrAddressInUse, ErrExists},
	{VerbCreate, KindEndpoint, CodeAddressInvalidOrReserved}: {ErrAddressInUse, ErrInvalid},
	{VerbCreate, KindNetwork, CodeObjectAlreadyExists}:       {ErrOverlap, ErrExists},
	{VerbDelete, KindNamespace, CodeRequestUnsupported}:      {ErrInUse},
	// The port belongs to another load balancer, or to a program of the node.
	{VerbCreate, KindLoadBalancer, CodePortExists}: {ErrExists, ErrInUse},
	{VerbModify, KindLoadBalancer, CodePortExists}: {ErrExists, ErrInUse},
}

// absences are the codes by which a get or a delete says that the object itself
// is not there. The other "not found" codes then mean a part below it, such as
// its switch or port; who took those for the object being gone would leak it.
var absences = map[Kind][]Code{
	KindNetwork:      {CodeNetworkNotFound, CodeElementNotFound, CodeObjectNotFound},
	KindEndpoint:     {CodeEndpointNotFound, CodeNetworkNotFound, CodeElementNotFound, CodeObjectNotFound},
	KindNamespace:    {CodeElementNotFound, CodeObjectNotFound},
	KindLoadBalancer: {CodeElementNotFound, CodeObjectNotFound},
	KindRoute:        {CodeElementNotFound, CodeObjectNotFound},
}

func meanings(v Verb, k Kind, c Code) []error {
	if m, ok := operationMeanings[errorKey{v, k, c}]; ok {
		return m
	}
	m := codeMeanings[c]
	if (v == VerbGet || v == VerbDelete) && slices.Contains(m, ErrNotFound) && !slices.Contains(absences[k], c) {
		return nil
	}
	return m
}
