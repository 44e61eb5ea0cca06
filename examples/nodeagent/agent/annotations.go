package agent

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// DefaultAnnotationPrefix is flannel's.
const DefaultAnnotationPrefix = "flannel.alpha.coreos.com"

// annotations are the names of flannel's annotations under a prefix.
type annotations struct {
	prefix                                                                       string
	managed, backendType, backendData, publicIP, publicIPOverwrite, nodePublicIP string
}

// CheckAnnotationPrefix says whether names of annotations can begin so, as
// Options.AnnotationPrefix must. The empty one is the default.
func CheckAnnotationPrefix(prefix string) error {
	_, err := newAnnotations(prefix)
	return err
}

// newAnnotations takes a prefix as flanneld does: a slash is added if there is
// none, and a hyphen to what follows one.
func newAnnotations(prefix string) (annotations, error) {
	if prefix == "" {
		prefix = DefaultAnnotationPrefix
	}
	p := prefix
	if !strings.Contains(p, "/") {
		p += "/"
	}
	if !strings.HasSuffix(p, "/") && !strings.HasSuffix(p, "-") {
		p += "-"
	}
	if bad := validation.IsQualifiedName(p + "backend-type"); len(bad) > 0 {
		return annotations{}, fmt.Errorf("AnnotationPrefix: %q: %s", prefix, strings.Join(bad, "; "))
	}
	return annotations{prefix: p, managed: p + "kube-subnet-manager", backendType: p + "backend-type", backendData: p + "backend-data",
		publicIP: p + "public-ip", publicIPOverwrite: p + "public-ip-overwrite", nodePublicIP: p + "node-public-ip"}, nil
}
