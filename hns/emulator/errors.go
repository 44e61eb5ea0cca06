package emulator

import (
	"github.com/hnskit/hnskit/hns"
)

// failure is the code with which an operation ends. Do turns it into a
// *hns.BackendError.
type failure hns.Code

func (f failure) Error() string { return hns.Code(f).String() }

// detail is a failure that HNS says more about. What it says is English in
// every language of the system.
type detail struct {
	failure
	text string
}

func (d detail) Unwrap() error { return d.failure }

// messages holds the English system messages, with the blank that HNS puts
// behind them. HNS answers in the language of the system; Options.Text
// replaces them.
var messages = map[hns.Code]string{
	hns.CodeNetworkNotFound:           "The network was not found. ",
	hns.CodeEndpointNotFound:          "The endpoint was not found. ",
	hns.CodeLayerNotFound:             "The network's underlying layer was not found. ",
	hns.CodeSwitchNotFound:            "The virtual machine switch was not found. ",
	hns.CodeSubnetNotFound:            "The network does not have a subnet for this endpoint. ",
	hns.CodeAdapterNotFound:           "An adapter was not found. ",
	hns.CodePortNotFound:              "The switch-port was not found. ",
	hns.CodePolicyNotFound:            "An expected policy was not found. ",
	hns.CodeInvalidNetwork:            "The network was invalid. ",
	hns.CodeInvalidNetworkType:        "Invalid network type. ",
	hns.CodeInvalidEndpoint:           "The endpoint was invalid. ",
	hns.CodeInvalidPolicy:             "The provided policy configuration is invalid or missing parameters. ",
	hns.CodeInvalidPolicyType:         "Invalid policy type. ",
	hns.CodeInvalidRemoteOperation:    "This requested operation is invalid for a remote endpoint. ",
	hns.CodeNetworkExists:             "A network with this name already exists. ",
	hns.CodePolicyExists:              "A policy of this kind already exists. ",
	hns.CodePortExists:                "The specified port already exists. ",
	hns.CodeEndpointAttached:          "This endpoint is already attached to the switch. ",
	hns.CodeRequestUnsupported:        "The specified request is unsupported. ",
	hns.CodeMappingNotSupported:       "Port mapping is not supported on the given network. ",
	hns.CodeDegraded:                  "There was an operation attempted on a degraded object. ",
	hns.CodeSharedSwitchModification:  "Cannot modify a switch shared by multiple networks. ",
	hns.CodeGUIDConversion:            "Failed to interpret a parameter as a GUID. ",
	hns.CodeInvalidJSON:               "Invalid JSON document string. ",
	hns.CodeInvalidJSONReference:      "The reference is invalid in the JSON document. ",
	hns.CodeSharingDisabled:           "Endpoint sharing is disabled. ",
	hns.CodeInvalidIP:                 "IP address is either invalid or not part of any configured subnet(s). ",
	hns.CodeSwitchExtensionNotFound:   "The specified switch extension does not exist on this switch. ",
	hns.CodeManagerStopped:            "Operation cannot be performed while service is stopping. ",
	hns.CodeICSDisabled:               "The service that shares connections is disabled. ",
	hns.CodeEndpointInNamespace:       "The endpoint is already attached to a namespace. ",
	hns.CodeHasReferences:             "The specified entity cannot be removed while it still has references. ",
	hns.CodeInvalidInternalPort:       "The internal port must exist and cannot be zero. ",
	hns.CodeNamespaceAttachFailed:     "The requested operation for attach namespace failed. ",
	hns.CodeAddressInvalidOrReserved:  "An address provided is invalid or reserved. ",
	hns.CodeInvalidPrefix:             "The prefix provided is invalid. ",
	hns.CodeInvalidSubnet:             "The subnet provided is invalid. ",
	hns.CodeInvalidIPSubnet:           "The IP subnet provided is invalid. ",
	hns.CodeEndpointNotAttached:       "The endpoint must be attached to complete the operation. ",
	hns.CodeEndpointNotLocal:          "The endpoint must be local to complete the operation. ",
	hns.CodeInterfaceParametersExists: "Cannot apply more than one set of interface parameters. ",
	hns.CodeVFPNotAllowed:             "VFP is not allowed on this system. ",

	hns.CodeNotImplemented:      "Not implemented ",
	hns.CodeAccessDenied:        "Access is denied. ",
	hns.CodeSharingViolation:    "The process cannot access the file because it is being used by another process. ",
	hns.CodeDuplicateName:       "You were not connected because a duplicate name exists on the network. ",
	hns.CodeInvalidParameter:    "The parameter is incorrect. ",
	hns.CodeProcNotFound:        "The specified procedure could not be found. ",
	hns.CodeAlreadyExists:       "Cannot create a file when that file already exists. ",
	hns.CodeServiceNotActive:    "The service has not been started. ",
	hns.CodeElementNotFound:     "Element not found. ",
	hns.CodeRPCUnavailable:      "The RPC server is unavailable. ",
	hns.CodeRPCCallFailed:       "The remote procedure call failed. ",
	hns.CodeRPCCallFailedDNE:    "The remote procedure call failed and did not execute. ",
	hns.CodeRPCNotRegistered:    "There are no more endpoints available from the endpoint mapper. ",
	hns.CodeObjectAlreadyExists: "The object already exists. ",
}
