// tests/web/lib/shop_shots.mjs - the shop's part of the pictures in docs/screenshots.

const VIEWS = [
  ['', 1280, 'light'],
  ['-dark', 1280, 'dark'],
  ['-phone', 360, 'light'],
];

/** Takes every page of the shop that is wanted, as a customer of the demo shop. */
export async function shootShop(panel, customer, folder, wanted) {
  const { url } = panel.souk;
  for (const [suffix, width, colorScheme] of VIEWS) {
    const context = await panel.context
      .browser()
      .newContext({ viewport: { width, height: 800 }, colorScheme, locale: 'en-GB' });
    const page = await context.newPage();
    const shoot = async (name) => {
      if (!wanted(`${name}${suffix}`)) return;
      await page.screenshot({ path: `${folder}${name}${suffix}.png`, fullPage: true });
      console.log(`${name}${suffix}`);
    };
    await page.goto(url);
    await shoot('shop-catalogue');
    await page.goto(`${url}/p/lumen-photo-editor`);
    await shoot('shop-product');
    await page.getByRole('button', { name: 'Add to cart' }).click();
    await shoot('shop-cart');
    await page.goto(`${url}/checkout`);
    await shoot('shop-checkout');
    if (wanted(`shop-order${suffix}`)) {
      await page.getByLabel('E-mail address').fill('guest@example.com');
      await page.getByRole('button', { name: /Order and pay/ }).click();
      await page.waitForURL(/\/sandbox\/pay\//);
      await page.getByRole('button', { name: 'Pay', exact: true }).click();
      await page.getByRole('link', { name: 'Back to the shop' }).click();
      await page.getByText('Thank you!').waitFor();
      await shoot('shop-order');
    }
    await page.goto(`${url}/login`);
    await page.getByLabel('E-mail address').fill(customer.email);
    await page.getByLabel('Password').fill(customer.password);
    await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { level: 1, name: /Hello/ }).waitFor();
    await shoot('shop-account');
    for (const name of ['wallet', 'orders', 'settings', 'tickets']) {
      await page.goto(`${url}/account/${name}`);
      await shoot(`shop-${name}`);
    }
    await context.close();
  }
}
