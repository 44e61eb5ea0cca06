package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// etcd is one member that is a whole cluster.
type etcd struct {
	program, dir string
	url          string
	proc         *process
}

func (e *etcd) start(ctx context.Context) (err error) {
	for range tries {
		var ports []int
		if ports, err = freePorts(2); err != nil {
			return err
		}
		if err = e.startOn(ctx, ports[0], ports[1]); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (e *etcd) startOn(ctx context.Context, client, peer int) (err error) {
	e.url = fmt.Sprintf("http://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	log := e.dir + ".log"
	e.proc, err = run(ctx, log, e.program,
		"--data-dir="+e.dir, "--log-level=error",
		"--listen-client-urls="+e.url, "--advertise-client-urls="+e.url,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL)
	if err != nil {
		return err
	}
	return e.proc.waitFor(ctx, "etcd", log, func(ctx context.Context) bool {
		_, err := e.revision(ctx)
		return err == nil
	})
}

// revision returns the present state's number.
func (e *etcd) revision(ctx context.Context) (string, error) {
	var answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	err := e.call(ctx, "/v3/maintenance/status", struct{}{}, &answer)
	return answer.Header.Revision, err
}

func (e *etcd) compact(ctx context.Context) error {
	rev, err := e.revision(ctx)
	if err != nil {
		return err
	}
	return e.call(ctx, "/v3/kv/compaction", map[string]any{"revision": rev, "physical": true}, nil)
}

// call uses etcd's JSON gateway, in which numbers of 64 bits are texts.
func (e *etcd) call(ctx context.Context, path string, body, answer any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s: %s: %s", path, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
