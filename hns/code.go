package hns

import "fmt"

// Code is an HRESULT of HNS. Win32 codes stand in it with their HRESULT
// prefix 0x8007; [NewCode] adds it.
type Code uint32

// The codes that HNS answers with (winerror.h; "HCN_E_..." in the Host Compute
// Network reference).
const (
	CodeNetworkNotFound           Code = 0x803b0001
	CodeEndpointNotFound          Code = 0x803b0002
	CodeLayerNotFound             Code = 0x803b0003
	CodeSwitchNotFound            Code = 0x803b0004
	CodeSubnetNotFound            Code = 0x803b0005
	CodeAdapterNotFound           Code = 0x803b0006
	CodePortNotFound              Code = 0x803b0007
	CodePolicyNotFound            Code = 0x803b0008
	CodeVFPPortSettingNotFound    Code = 0x803b0009
	CodeInvalidNetwork            Code = 0x803b000a
	CodeInvalidNetworkType        Code = 0x803b000b
	CodeInvalidEndpoint           Code = 0x803b000c
	CodeInvalidPolicy             Code = 0x803b000d
	CodeInvalidPolicyType         Code = 0x803b000e
	CodeInvalidRemoteOperation    Code = 0x803b000f
	CodeNetworkExists             Code = 0x803b0010
	CodeLayerExists               Code = 0x803b0011
	CodePolicyExists              Code = 0x803b0012
	CodePortExists                Code = 0x803b0013
	CodeEndpointAttached          Code = 0x803b0014
	CodeRequestUnsupported        Code = 0x803b0015
	CodeMappingNotSupported       Code = 0x803b0016
	CodeDegraded                  Code = 0x803b0017
	CodeSharedSwitchModification  Code = 0x803b0018
	CodeGUIDConversion            Code = 0x803b0019
	CodeRegistryFailure           Code = 0x803b001a
	CodeInvalidJSON               Code = 0x803b001b
	CodeInvalidJSONReference      Code = 0x803b001c
	CodeSharingDisabled           Code = 0x803b001d
	CodeInvalidIP                 Code = 0x803b001e
	CodeSwitchExtensionNotFound   Code = 0x803b001f
	CodeManagerStopped            Code = 0x803b0020
	CodeICSDisabled               Code = 0x803b002a
	CodeEndpointInNamespace       Code = 0x803b002b
	CodeHasReferences             Code = 0x803b002c
	CodeInvalidInternalPort       Code = 0x803b002d
	CodeNamespaceAttachFailed     Code = 0x803b002e
	CodeAddressInvalidOrReserved  Code = 0x803b002f
	CodeInvalidPrefix             Code = 0x803b0030
	CodeObjectUsedAfterUnload     Code = 0x803b0031
	CodeInvalidSubnet             Code = 0x803b0032
	CodeInvalidIPSubnet           Code = 0x803b0033
	CodeEndpointNotAttached       Code = 0x803b0034
	CodeEndpointNotLocal          Code = 0x803b0035
	CodeInterfaceParametersExists Code = 0x803b0036
	CodeVFPNotAllowed             Code = 0x803b0037

	CodeNotImplemented      Code = 0x80004001
	CodeAccessDenied        Code = 0x80070005
	CodeSharingViolation    Code = 0x80070020
	CodeDuplicateName       Code = 0x80070034
	CodeInvalidParameter    Code = 0x80070057
	CodeProcNotFound        Code = 0x8007007f
	CodeModuleNotFound      Code = 0x8007007e
	CodeAlreadyExists       Code = 0x800700b7
	CodeServiceNotActive    Code = 0x80070426
	CodeElementNotFound     Code = 0x80070490
	CodeRPCUnavailable      Code = 0x800706ba
	CodeRPCCallFailed       Code = 0x800706be
	CodeRPCCallFailedDNE    Code = 0x800706bf
	CodeRPCNotRegistered    Code = 0x800706d9
	CodeObjectNotFound      Code = 0x800710d8
	CodeObjectAlreadyExists Code = 0x80071392
)

var codeNames = map[Code]string{
	CodeNetworkNotFound:           "HCN_E_NETWORK_NOT_FOUND",
	CodeEndpointNotFound:          "HCN_E_ENDPOINT_NOT_FOUND",
	CodeLayerNotFound:             "HCN_E_LAYER_NOT_FOUND",
	CodeSwitchNotFound:            "HCN_E_SWITCH_NOT_FOUND",
	CodeSubnetNotFound:            "HCN_E_SUBNET_NOT_FOUND",
	CodeAdapterNotFound:           "HCN_E_ADAPTER_NOT_FOUND",
	CodePortNotFound:              "HCN_E_PORT_NOT_FOUND",
	CodePolicyNotFound:            "HCN_E_POLICY_NOT_FOUND",
	CodeVFPPortSettingNotFound:    "HCN_E_VFP_PORTSETTING_NOT_FOUND",
	CodeInvalidNetwork:            "HCN_E_INVALID_NETWORK",
	CodeInvalidNetworkType:        "HCN_E_INVALID_NETWORK_TYPE",
	CodeInvalidEndpoint:           "HCN_E_INVALID_ENDPOINT",
	CodeInvalidPolicy:             "HCN_E_INVALID_POLICY",
	CodeInvalidPolicyType:         "HCN_E_INVALID_POLICY_TYPE",
	CodeInvalidRemoteOperation:    "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION",
	CodeNetworkExists:             "HCN_E_NETWORK_ALREADY_EXISTS",
	CodeLayerExists:               "HCN_E_LAYER_ALREADY_EXISTS",
	CodePolicyExists:              "HCN_E_POLICY_ALREADY_EXISTS",
	CodePortExists:                "HCN_E_PORT_ALREADY_EXISTS",
	CodeEndpointAttached:          "HCN_E_ENDPOINT_ALREADY_ATTACHED",
	CodeRequestUnsupported:        "HCN_E_REQUEST_UNSUPPORTED",
	CodeMappingNotSupported:       "HCN_E_MAPPING_NOT_SUPPORTED",
	CodeDegraded:                  "HCN_E_DEGRADED_OPERATION",
	CodeSharedSwitchModification:  "HCN_E_SHARED_SWITCH_MODIFICATION",
	CodeGUIDConversion:            "HCN_E_GUID_CONVERSION_FAILURE",
	CodeRegistryFailure:           "HCN_E_REGKEY_FAILURE",
	CodeInvalidJSON:               "HCN_E_INVALID_JSON",
	CodeInvalidJSONReference:      "HCN_E_INVALID_JSON_REFERENCE",
	CodeSharingDisabled:           "HCN_E_ENDPOINT_SHARING_DISABLED",
	CodeInvalidIP:                 "HCN_E_INVALID_IP",
	CodeSwitchExtensionNotFound:   "HCN_E_SWITCH_EXTENSION_NOT_FOUND",
	CodeManagerStopped:            "HCN_E_MANAGER_STOPPED",
	CodeICSDisabled:               "HCN_E_ICS_DISABLED",
	CodeEndpointInNamespace:       "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS",
	CodeHasReferences:             "HCN_E_ENTITY_HAS_REFERENCES",
	CodeInvalidInternalPort:       "HCN_E_INVALID_INTERNAL_PORT",
	CodeNamespaceAttachFailed:     "HCN_E_NAMESPACE_ATTACH_FAILED",
	CodeAddressInvalidOrReserved:  "HCN_E_ADDR_INVALID_OR_RESERVED",
	CodeInvalidPrefix:             "HCN_E_INVALID_PREFIX",
	CodeObjectUsedAfterUnload:     "HCN_E_OBJECT_USED_AFTER_UNLOAD",
	CodeInvalidSubnet:             "HCN_E_INVALID_SUBNET",
	CodeInvalidIPSubnet:           "HCN_E_INVALID_IP_SUBNET",
	CodeEndpointNotAttached:       "HCN_E_ENDPOINT_NOT_ATTACHED",
	CodeEndpointNotLocal:          "HCN_E_ENDPOINT_NOT_LOCAL",
	CodeInterfaceParametersExists: "HCN_INTERFACEPARAMETERS_ALREADY_APPLIED",
	CodeVFPNotAllowed:             "HCN_E_VFP_NOT_ALLOWED",
	CodeNotImplemented:            "E_NOTIMPL",
	CodeAccessDenied:              "ERROR_ACCESS_DENIED",
	CodeSharingViolation:          "ERROR_SHARING_VIOLATION",
	CodeDuplicateName:             "ERROR_DUP_NAME",
	CodeInvalidParameter:          "ERROR_INVALID_PARAMETER",
	CodeProcNotFound:              "ERROR_PROC_NOT_FOUND",
	CodeModuleNotFound:            "ERROR_MOD_NOT_FOUND",
	CodeAlreadyExists:             "ERROR_ALREADY_EXISTS",
	CodeServiceNotActive:          "ERROR_SERVICE_NOT_ACTIVE",
	CodeElementNotFound:           "ERROR_NOT_FOUND",
	CodeRPCUnavailable:            "RPC_S_SERVER_UNAVAILABLE",
	CodeRPCCallFailed:             "RPC_S_CALL_FAILED",
	CodeRPCCallFailedDNE:          "RPC_S_CALL_FAILED_DNE",
	CodeRPCNotRegistered:          "EPT_S_NOT_REGISTERED",
	CodeObjectNotFound:            "ERROR_OBJECT_NOT_FOUND",
	CodeObjectAlreadyExists:       "ERROR_OBJECT_ALREADY_EXISTS",
}

// NewCode returns v as a Code: an HRESULT as it is, a bare Win32 code (below
// 0x10000) with its HRESULT prefix. Zero stays zero.
func NewCode(v uint32) Code {
	if v != 0 && v < 0x10000 {
		v |= 0x80070000
	}
	return Code(v)
}

// Win32 returns the Win32 code inside, and whether there is one.
func (c Code) Win32() (uint32, bool) {
	if c&0xffff0000 == 0x80070000 {
		return uint32(c & 0xffff), true
	}
	return 0, false
}

// String returns the symbol and the number, such as
// "HCN_E_NETWORK_NOT_FOUND (0x803b0001)"; Win32 codes are shown bare, as
// Windows tools do: "ERROR_NOT_FOUND (0x490)".
func (c Code) String() string {
	n := fmt.Sprintf("0x%08x", uint32(c))
	if w, ok := c.Win32(); ok {
		n = fmt.Sprintf("0x%x", w)
	}
	if s, ok := codeNames[c]; ok {
		return s + " (" + n + ")"
	}
	return n
}
