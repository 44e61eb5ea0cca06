package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hnskit/hnskit/subnetenv"
)

// serviceAccount is where a pod finds its token and the authority's certificate.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// kubeConfig says how the API server is reached: by flags, else as the pod's
// service account.
func (c *config) kubeConfig(env environment) (*rest.Config, error) {
	var (
		k   *rest.Config
		err error
	)
	if c.kubeAPIURL == "" && c.kubeConfigFile == "" {
		k, err = inCluster(env)
	} else if k, err = clientcmd.BuildConfigFromFlags(c.kubeAPIURL, c.kubeConfigFile); err != nil {
		err = fmt.Errorf("--kubeconfig-file, --kube-api-url: %w", err)
	}
	if err != nil {
		return nil, err
	}
	k.UserAgent = "hnskit-nodeagent/" + version()
	return k, nil
}

// inCluster is rest.InClusterConfig for a HostProcess container too, whose files
// may be elsewhere.
func inCluster(env environment) (*rest.Config, error) {
	host, port := env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("API server: not in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set), so --kubeconfig-file or --kube-api-url must say where it is")
	}
	tokenFile, caFile := env.mounted(serviceAccount+"/token"), env.mounted(serviceAccount+"/ca.crt")
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("API server: the pod's service account: %w", err)
	}
	if _, err := os.Stat(caFile); err != nil {
		return nil, fmt.Errorf("API server: the pod's service account: %w", err)
	}
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort(host, port),
		TLSClientConfig: rest.TLSClientConfig{CAFile: caFile},
		BearerToken:     string(token),
		BearerTokenFile: tokenFile, // which is read again when the token changes
	}, nil
}

// nodeName returns the name of the Node that this is. Asking the API server for
// it is tried until it answers.
func nodeName(ctx context.Context, env environment, client kubernetes.Interface, log *slog.Logger) (string, error) {
	if name := env.get("NODE_NAME"); name != "" {
		return name, nil
	}
	pod, namespace := env.get("POD_NAME"), env.get("POD_NAMESPACE")
	if pod == "" || namespace == "" {
		return "", errors.New("which Node this is: set NODE_NAME, or POD_NAME and POD_NAMESPACE")
	}
	var name string
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: 30 * time.Second}
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		p, err := client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
		switch {
		case err == nil:
			name = p.Spec.NodeName
			return true, nil
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return false, err
		}
		log.WarnContext(ctx, "the API server did not tell the pod's Node, and is asked again", "error", err)
		return false, nil
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("which Node this is: pod %s/%s: %w", namespace, pod, err)
	case name == "":
		return "", fmt.Errorf("which Node this is: pod %s/%s is on none", namespace, pod)
	}
	return name, nil
}

// readNetConf reads the network configuration of the cluster.
func readNetConf(path string, env environment) (*subnetenv.NetConf, error) {
	data, err := os.ReadFile(env.mounted(path))
	if err != nil {
		return nil, err
	}
	n, err := subnetenv.ParseNetConf(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}
