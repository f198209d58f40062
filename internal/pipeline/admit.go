package pipeline

import (
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Admit checks a release before anything is read: the configuration must be allowed to release
// (May), and the key must exist. It returns the key, and logs the warnings about it. The
// error is of type config.Errors, or a *DataError about the key.
func Admit(p *config.Pipeline, o Options) (keystream.Key, error) {
	if err := May(p, o); err != nil {
		return keystream.Key{}, err
	}
	key, err := p.Key.Resolve()
	if err != nil {
		return keystream.Key{}, DataErrorf("%v", err)
	}
	for _, warning := range p.Key.Warnings(key) {
		o.Log.Warn().Msg(warning)
	}
	return key, nil
}

// May checks whether a configuration may release. Settings that release more than its file
// does must be allowed, and a sensitive column that no mask changes must be declared as such.
// The error is of type config.Errors.
func May(p *config.Pipeline, o Options) error {
	if err := p.LooseningAllowed(o.AllowLoosening); err != nil {
		return err
	}
	return p.CheckRelease()
}
