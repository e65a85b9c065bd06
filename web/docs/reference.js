// Starts Swagger UI. The reader's token stays in this page's memory; cookies are never sent, so that a call has exactly the rights of
// the token and none of a login in the same browser.
window.addEventListener('DOMContentLoaded', () => {
  window.SwaggerUIBundle({
    url: '../openapi.json',
    dom_id: '#reference',
    presets: [window.SwaggerUIBundle.presets.apis],
    layout: 'BaseLayout',
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null,
    persistAuthorization: false,
    requestInterceptor: (request) => Object.assign(request, { credentials: 'omit' }),
  });
});
