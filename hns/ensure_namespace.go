package hns

import (
	"context"
	"errors"
	"fmt"
)

// Ensure makes sure that there is a namespace of want's id, which is needed,
// since namespaces have no names, and of its type if it has one. The number of
// the compartment is for HNS to choose and not compared. A namespace of another
// type is a *[DriftError] (see EnsureOptions.Drift). One that is made anew keeps
// its id; if HNS refuses the new one the old one is put back, and if that fails
// too the error is ErrLeftBehind.
func (s *NamespaceService) Ensure(ctx context.Context, want *Namespace, opts *EnsureOptions) (*Namespace, Decision, error) {
	if want == nil || want.ID.IsZero() {
		return nil, Decision{Kind: KindNamespace}, ensureFailed(KindNamespace, "", &FieldError{Path: "ID", Reason: "missing; a namespace is known by its id alone"})
	}
	o := optionsOf(opts)
	d := Decision{Kind: KindNamespace, Ref: want.ID.String()}
	if _, err := document(ctx, s.c, namespaceKind, want); err != nil {
		return nil, d, ensureFailed(KindNamespace, d.Ref, err)
	}
	return patiently(ctx, o, func() (*Namespace, Decision, error) {
		got, err := s.ByID(ctx, want.ID)
		switch {
		case errors.Is(err, ErrNotFound):
			d := d
			d.Action = ActionCreate
			return s.ensureNew(ctx, want, d, o)
		case err != nil:
			return nil, d, err
		}
		return s.settle(ctx, want, got, d, o)
	})
}

func (s *NamespaceService) ensureNew(ctx context.Context, want *Namespace, d Decision, o EnsureOptions) (*Namespace, Decision, error) {
	if o.DryRun {
		return nil, d, nil
	}
	made, err := s.Create(ctx, want)
	if err == nil || !errors.Is(err, ErrExists) {
		return made, d, err
	}
	got, errFind := s.ByID(ctx, want.ID) // somebody else was faster
	if errFind != nil {
		return nil, d, errors.Join(err, errFind)
	}
	o.Drift = DriftRefuse
	return s.settle(ctx, want, got, Decision{Kind: d.Kind, Ref: d.Ref}, o)
}

func (s *NamespaceService) settle(ctx context.Context, want, got *Namespace, d Decision, o EnsureOptions) (*Namespace, Decision, error) {
	d.ID = got.ID
	d.Action = ActionKeep
	if want.Type == "" || want.Type == got.Type {
		return got, d, nil
	}
	d.Differences = []Difference{{"Type", string(want.Type), string(got.Type)}}
	switch {
	case o.Drift == DriftKeep:
		return got, d, nil
	case o.Drift != DriftRecreate:
		return got, d, d.refuse(d.Differences, nil)
	case len(got.Resources) > 0:
		return got, d, d.refuse(d.Differences, fmt.Errorf("%w: it holds %d resources", ErrInUse, len(got.Resources)))
	}
	d.Action = ActionRecreate
	if o.DryRun {
		return got, d, nil
	}
	after := d
	made, err := replace(ctx, s.c, replacement[Namespace]{
		kind: namespaceKind, id: got.ID, old: got,
		create: func(ctx context.Context) (made *Namespace, err error) {
			made, after, err = s.ensureNew(ctx, want, d, o)
			return made, err
		},
		settled: func(ctx context.Context) (*Namespace, error) {
			now, err := s.ByID(ctx, want.ID)
			if errors.Is(err, ErrNotFound) {
				return nil, nil
			}
			if err != nil || now.Type != want.Type {
				return nil, err
			}
			return now, nil
		},
		restore: func(ctx context.Context) error {
			_, err := putBack(ctx, s.c, namespaceKind, got, ID{})
			return err
		},
	})
	return made, after, err
}
