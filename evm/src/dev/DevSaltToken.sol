// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title DevSaltToken
/// @notice FOR DEVELOPMENT ONLY. Anyone can mint.
/// @dev The domain of its permits (EIP-2612) identifies the chain by a salt, as in bridged tokens.
contract DevSaltToken is ERC20, Nonces {
    /// @notice The deadline of the permit has passed.
    error PermitExpired(uint256 deadline);

    /// @notice The permit was not signed by the owner.
    error PermitNotSigned(address signer, address owner);

    bytes32 private constant _DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,address verifyingContract,bytes32 salt)");
    bytes32 private constant _PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    constructor(string memory name_, string memory symbol_) ERC20(name_, symbol_) {}

    /// @notice Mints tokens for any caller.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @notice Sets the allowance that the owner signed.
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        if (block.timestamp > deadline) revert PermitExpired(deadline);
        bytes32 wanted = keccak256(abi.encode(_PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline));
        address signer = ECDSA.recover(MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), wanted), v, r, s);
        if (signer != owner) revert PermitNotSigned(signer, owner);
        _approve(owner, spender, value);
    }

    /// @notice The EIP-712 domain separator of this token on this chain.
    // forge-lint: disable-next-line(mixed-case-function)
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        bytes32 salt = bytes32(block.chainid);
        return keccak256(abi.encode(_DOMAIN_TYPEHASH, keccak256(bytes(name())), keccak256("1"), address(this), salt));
    }
}
