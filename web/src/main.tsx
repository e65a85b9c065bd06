// The start: who is logged in, and what to show them.
import { render } from 'preact';
import { Login } from './pages/auth/login';
import { Setup } from './pages/setup';
import { setupToken } from './route';
import { Proof } from './parts/proof';
import { me, ready, resume } from './session';
import { Shell } from './shell';
import './theme';
import { Loading } from './ui/basic';
import { Questions } from './ui/dialog';
import { Toasts } from './ui/toast';

function App() {
  const setup = setupToken();
  const page = setup ? <Setup token={setup} /> : !ready.value ? <Loading /> : me.value ? <Shell /> : <Login />;
  return (
    <>
      {page}
      <Questions />
      <Proof />
      <Toasts />
    </>
  );
}

const app = document.getElementById('app') as HTMLElement;
app.replaceChildren();
render(<App />, app);
void resume();
