'use strict';

exports.Issuer = require('./issuer').Issuer;
exports.OidcUsers = require('./oidc-users').OidcUsers;
