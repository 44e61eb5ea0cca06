package delegate

import (
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
	// longestName leaves room, in the 255 that file systems allow, for what a
	// temporary file adds.
	longestName = 200
)

// Validate checks the parts by the rules of the CNI specification, and that files
// on every system can be named after them. The error is a *FieldError.
func (a Attachment) Validate() error {
	if err := utils.ValidateNetworkName(a.Network); err != nil {
		return cniField("name", a.Network, err)
	}
	if err := validateContainerID(a.ContainerID); err != nil {
		return err
	}
	if err := utils.ValidateInterfaceName(a.IfName); err != nil {
		return cniField("CNI_IFNAME", a.IfName, err)
	}
	if name := a.fileName(); len(name) > longestName {
		return field("CNI_CONTAINERID", encode(a.ContainerID), "is too long, with network and interface name, to name a file")
	}
	return nil
}

// validateContainerID also refuses what Windows does not take for a file: upstream
// names its files after the container id.
func validateContainerID(id string) error {
	const variable = "CNI_CONTAINERID"
	if err := utils.ValidateContainerID(id); err != nil {
		return cniField(variable, id, err)
	}
	if isDevice(id) {
		return field(variable, encode(id), "is the name of a device on Windows")
	}
	if strings.HasSuffix(id, ".") {
		return field(variable, encode(id), "ends in a dot, which Windows drops from file names")
	}
	return nil
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
// attachments, also where the file system ignores case.
func (a Attachment) fileName() string {
	return escape(a.ContainerID) + separator + escape(a.Network) + separator + escape(a.IfName) + fileType
}

// attachmentOf is fileName backwards.
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
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
