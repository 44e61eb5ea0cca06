package delegate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/utils"
)

// Attachment names one interface of one container on one network: what an ADD
// makes and a DEL removes.
type Attachment struct {
	Network     string // name in the configuration
	ContainerID string // CNI_CONTAINERID
	IfName      string // CNI_IFNAME
}

const (
	// separator stands in no network name and no container id.
	separator = "@"
	fileType  = ".json"
	// hashMark stands in no name that was not cut.
	hashMark = "~"
	// longestName leaves room, in the 255 that file systems allow, for what a
	// temporary file adds.
	longestName = 200
)

// Validate checks the parts by the rules of the CNI specification. The error is a
// *FieldError.
func (a Attachment) Validate() error {
	if err := utils.ValidateNetworkName(a.Network); err != nil {
		return cniField("name", a.Network, err)
	}
	if err := utils.ValidateContainerID(a.ContainerID); err != nil {
		return cniField("CNI_CONTAINERID", a.ContainerID, err)
	}
	if err := utils.ValidateInterfaceName(a.IfName); err != nil {
		return cniField("CNI_IFNAME", a.IfName, err)
	}
	return nil
}

// isFileName reports whether every system takes a container id for the name of a
// file. Upstream names its files so.
func isFileName(id string) bool {
	const most = 255
	return utils.ValidateContainerID(id) == nil && !isDevice(id) && !strings.HasSuffix(id, ".") && len(id) <= most
}

// isDevice reports whether Windows takes a file of this name, whatever its
// directory and extension, for a device.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, base) {
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && '0' <= base[3] && base[3] <= '9'
}

func cniField(path, value string, err *types.Error) error {
	return field(path, encode(value), "cannot be used: "+err.Error())
}

// fileName is the name of the attachment's file. Names differ for different
// attachments, also where the file system ignores case. One that would be too long
// is cut, and ends in its hash.
func (a Attachment) fileName() string {
	id := escape(a.ContainerID)
	if isDevice(id) {
		id = escapeByte(id[0]) + id[1:]
	}
	name := id + separator + escape(a.Network) + separator + escape(a.IfName)
	if len(name)+len(fileType) > longestName {
		sum := sha256.Sum256([]byte(name))
		name = name[:longestName-len(fileType)-1-2*len(sum)] + hashMark + hex.EncodeToString(sum[:])
	}
	return name + fileType
}

// attachmentOf is fileName backwards; false for one that was cut, too.
func attachmentOf(fileName string) (Attachment, bool) {
	base, ok := strings.CutSuffix(fileName, fileType)
	parts := strings.Split(base, separator)
	if !ok || len(parts) != 3 {
		return Attachment{}, false
	}
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil {
			return Attachment{}, false
		}
		parts[i] = text
	}
	a := Attachment{ContainerID: parts[0], Network: parts[1], IfName: parts[2]}
	return a, a.Validate() == nil && a.fileName() == fileName
}

// escape writes every byte but small letters, digits, - _ and . as %XX.
func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' {
			b.WriteByte(c)
		} else {
			b.WriteString(escapeByte(c))
		}
	}
	return b.String()
}

func escapeByte(c byte) string { return fmt.Sprintf("%%%02X", c) }
