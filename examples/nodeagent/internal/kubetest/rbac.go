package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ConfigOf makes what a manifest with RBAC objects describes, and returns the
// way to the server for its service account, with a token from the server. So
// whoever uses it may do what the manifest says, and nothing else. The manifest
// has exactly one ServiceAccount.
func (s *Server) ConfigOf(tb testing.TB, manifest string) *rest.Config {
	tb.Helper()
	b, err := os.ReadFile(manifest)
	if err != nil {
		tb.Fatal(err)
	}
	account, err := apply(tb.Context(), s.Admin(tb), b)
	if err != nil {
		tb.Fatalf("%s: %v", manifest, err)
	}
	token, err := s.Admin(tb).CoreV1().ServiceAccounts(account.Namespace).CreateToken(tb.Context(), account.Name, &authv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return &rest.Config{Host: s.address(), BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.certFile()}}
}

func apply(ctx context.Context, client kubernetes.Interface, manifest []byte) (account *corev1.ServiceAccount, err error) {
	for doc := range bytes.SplitSeq(manifest, []byte("\n---")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(doc, nil, nil)
		if runtime.IsMissingKind(err) && onlyComments(doc) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if sa, ok := obj.(*corev1.ServiceAccount); ok {
			if account != nil {
				return nil, errors.New("two service accounts")
			}
			account = sa
		}
		if err := create(ctx, client, obj); err != nil {
			return nil, err
		}
	}
	if account == nil {
		return nil, errors.New("no service account")
	}
	return account, nil
}

func onlyComments(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		if l := bytes.TrimSpace(line); len(l) > 0 && l[0] != '#' {
			return false
		}
	}
	return true
}

// create makes an object. One that is there is left as it is.
func create(ctx context.Context, client kubernetes.Interface, obj runtime.Object) (err error) {
	opts := metav1.CreateOptions{}
	switch o := obj.(type) {
	case *corev1.Namespace:
		_, err = client.CoreV1().Namespaces().Create(ctx, o, opts)
	case *corev1.ServiceAccount:
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace}} // kube-flannel's manifest makes it
		if _, err := client.CoreV1().Namespaces().Create(ctx, ns, opts); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		_, err = client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, opts)
	case *rbacv1.ClusterRole:
		_, err = client.RbacV1().ClusterRoles().Create(ctx, o, opts)
	case *rbacv1.ClusterRoleBinding:
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, o, opts)
	case *rbacv1.Role:
		_, err = client.RbacV1().Roles(o.Namespace).Create(ctx, o, opts)
	case *rbacv1.RoleBinding:
		_, err = client.RbacV1().RoleBindings(o.Namespace).Create(ctx, o, opts)
	default:
		return fmt.Errorf("a %T is no object of RBAC", obj)
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Kubeconfig writes c as a file, for programs.
func Kubeconfig(tb testing.TB, c *rest.Config) string {
	tb.Helper()
	const name = "test"
	conf := clientcmdapi.NewConfig()
	conf.Clusters[name] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile}
	conf.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	conf.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	conf.CurrentContext = name
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*conf, path); err != nil {
		tb.Fatal(err)
	}
	return path
}
