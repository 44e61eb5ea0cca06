package kubetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
)

func randomToken() string { return rand.Text() }

func (s *Server) logFile() string { return filepath.Join(s.dir, "kube-apiserver.log") }

// certFile is what the server makes at its first start: its certificate, and
// that of whoever signed it.
func (s *Server) certFile() string { return filepath.Join(s.dir, "certs", "apiserver.crt") }

func (s *Server) address() string { return fmt.Sprintf("https://127.0.0.1:%d", s.port) }

// prepare writes the files that the server reads.
func (s *Server) prepare() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(filepath.Join(s.dir, "sa.key"), block, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "tokens.csv"), []byte(s.token+`,admin,admin,"system:masters"`+"\n"), 0o600)
}

// start starts the server: the first time on a port that is free, and then on
// the same.
func (s *Server) start(ctx context.Context) error {
	if s.port != 0 {
		return s.startOn(ctx)
	}
	var err error
	for range tries {
		var ports []int
		if ports, err = freePorts(1); err != nil {
			return err
		}
		s.port = ports[0]
		if err = s.startOn(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (s *Server) startOn(ctx context.Context) (err error) {
	key := filepath.Join(s.dir, "sa.key")
	s.proc, err = run(ctx, s.logFile(), s.program,
		"--etcd-servers="+s.etcd.url,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.port), "--cert-dir="+filepath.Dir(s.certFile()),
		// The address of the service "kubernetes" would be loopback, which it cannot be.
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+ServiceCIDR,
		"--authorization-mode=RBAC", "--token-auth-file="+filepath.Join(s.dir, "tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key, "--service-account-signing-key-file="+key)
	if err != nil {
		return err
	}
	return s.proc.waitFor(ctx, "kube-apiserver", s.logFile(), s.ready)
}

func (s *Server) ready(ctx context.Context) bool {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil { // no certificate yet
		return false
	}
	b, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil && string(b) == "ok"
}
